"""Einstein's summation out of the tensor's own operations: line the axes up, multiply, sum."""

from functools import reduce
from operator import mul

from .tensor import as_tensor


def einsum(subscripts, *tensors):
    terms, arrow, result = subscripts.replace(" ", "").partition("->")
    terms = terms.split(",")
    together = "".join(terms)
    if not arrow:
        result = "".join(sorted(c for c in set(together) if together.count(c) == 1))
    letters = result + "".join(sorted(set(together) - set(result)))
    if len(set(letters)) < len(letters) or not set(result) <= set(together):
        raise ValueError(f"the result {result!r} does not follow from {terms}")
    if len(terms) != len(tensors):
        raise ValueError(f"{len(terms)} terms for {len(tensors)} tensors")
    lengths, lined_up = {}, []
    for term, tensor in zip(terms, map(as_tensor, tensors)):
        known = {c: lengths.setdefault(c, n) for c, n in zip(term, tensor.shape)}
        if not (term.isalpha() or term == "") or [known[c] for c in term if c in known] != list(tensor.shape):
            raise ValueError(f"{term!r} does not fit the shape {tensor.shape}")
        if len(known) < len(term):
            raise ValueError(f"{term!r} names an axis too many, or one twice")
        ordered = tensor.permute(*sorted(range(len(term)), key=lambda i, term=term: letters.index(term[i])))
        lined_up.append(ordered.reshape(tuple(known.get(c, 1) for c in letters)))
    product = reduce(mul, lined_up).expand(tuple(lengths[c] for c in letters))
    return product.sum(tuple(range(len(result), len(letters))))
