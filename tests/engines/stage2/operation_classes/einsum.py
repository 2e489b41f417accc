"""Einstein's summation: multiply everything out over all letters, then sum."""

from math import prod

import numpy as np

from .tensor import Function, tensors_of


class Einsum(Function):
    @staticmethod
    def forward(ctx, *arrays, terms, result):
        letters = list(result) + sorted(set("".join(terms)) - set(result))
        lengths = {}
        for term, array in zip(terms, arrays):
            if len(term) != array.ndim:
                raise ValueError(f"{term!r} does not name the axes of {array.shape}")
            for letter, length in zip(term, array.shape):
                if lengths.setdefault(letter, length) != length:
                    raise ValueError(f"the letter {letter!r} stands for {length} and {lengths[letter]}")
        aligned = [align(array, term, letters) for array, term in zip(arrays, terms)]
        ctx.save(aligned, letters, terms, result, [lengths[c] for c in letters])
        whole = np.broadcast_to(prod(aligned), ctx.saved[-1])
        return whole.sum(axis=tuple(range(len(result), len(letters))))

    @staticmethod
    def backward(ctx, g):
        aligned, letters, terms, result, shape = ctx.saved
        g = g.reshape(g.shape + (1,) * (len(letters) - len(result)))
        found = []
        for number, term in enumerate(terms):
            rest = prod(aligned[:number] + aligned[number + 1 :], start=g)
            summed = tuple(i for i, letter in enumerate(letters) if letter not in term)
            left = [letter for letter in letters if letter in term]
            part = np.broadcast_to(rest, shape).sum(axis=summed)
            found.append(part.transpose([left.index(letter) for letter in term]))
        return tuple(found)


def align(array, term, letters):
    """Return the array with an axis for each of `letters`, of length 1 where `term` lacks it."""
    order = sorted(range(len(term)), key=lambda i: letters.index(term[i]))
    shape = [array.shape[term.index(c)] if c in term else 1 for c in letters]
    return array.transpose(order).reshape(shape)


def einsum(subscripts, *tensors):
    given, arrow, result = subscripts.replace(" ", "").partition("->")
    terms = given.split(",")
    counted = "".join(terms)
    if not arrow:
        result = "".join(letter for letter in sorted(set(counted)) if counted.count(letter) == 1)
    if len(terms) != len(tensors) or not set(result) <= set(counted):
        raise ValueError(f"{subscripts!r} does not fit {len(tensors)} operands")
    for term in (*terms, result):
        if len(set(term)) != len(term) or not (term.isalpha() or term == ""):
            raise ValueError(f"{term!r} is not a row of different letters")
    return Einsum.apply(*tensors_of(tensors), terms=terms, result=result)
