# Generated from solutions/stage2_tensor/einsum.py. The bodies are yours to write.
"""Einstein's summation with gradients: products and sums over named axes, in one string."""

import numpy as np

from .tensor import as_tensor, record


def einsum(subscripts, *tensors):
    """Return the sum of products that `subscripts` names, as numpy's einsum does.

    "ij,jk->ik" is a matrix product, "bij->b" a sum, "i,j->ij" an outer product.
    Every axis has a letter, each letter one length; a letter that is missing
    after "->" is summed over. Without "->", the result has the letters that
    occur once, in alphabetical order. ValueError for an ellipsis, for a letter
    twice in one term, and where letters and shapes disagree.
    """
    raise NotImplementedError("2.10 einsum")
