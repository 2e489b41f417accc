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
    terms, _, result = subscripts.replace(" ", "").partition("->")
    terms = terms.split(",")
    if "->" not in subscripts:
        letters = "".join(terms)
        result = "".join(sorted(c for c in letters if letters.count(c) == 1))
    if "." in subscripts or any(len(set(t)) < len(t) for t in [*terms, result]):
        raise ValueError(f"einsum takes each letter once in a term, and no ellipsis: {subscripts!r}")
    operands = tuple(map(as_tensor, tensors))
    arrays = [t.data for t in operands]
    lengths = {c: n for term, x in zip(terms, arrays) for c, n in zip(term, x.shape)}

    def gradient(g):
        return [slope(i, g) if t.requires_grad else None for i, t in enumerate(operands)]

    def slope(i, g):
        """The same sum with g in place of operand i, and i's letters as the result's."""
        others = terms[:i] + terms[i + 1 :]
        known = set(result).union(*others)
        kept = "".join(c for c in terms[i] if c in known)  # the other letters were only summed over
        rest = arrays[:i] + arrays[i + 1 :]
        found = np.einsum(",".join([result, *others]) + "->" + kept, g, *rest, optimize=True)
        shape = [lengths[c] if c in known else 1 for c in terms[i]]
        return np.broadcast_to(found.reshape(shape), arrays[i].shape)

    out = np.einsum(f"{','.join(terms)}->{result}", *arrays, optimize=True)
    return record(out, operands, gradient)
