"""Axes and their sums, written as Einstein would."""

import numpy as np


def unbroadcast(gradient, shape):
    """Return `gradient` with every axis that broadcasting made or stretched summed over."""
    new = gradient.ndim - len(shape)
    letters = list(range(gradient.ndim))
    stays = [i for i in letters[new:] if shape[i - new] == gradient.shape[i]]
    return np.einsum(gradient, letters, stays).reshape(shape)


def split_axes(axis, rank):
    """Return the axes that stay and those that `axis` names, as two lists; ValueError if it cannot."""
    if axis is None:
        return [], list(range(rank))
    named = list(axis) if isinstance(axis, tuple | list) else [axis]
    flags = np.zeros(rank, int)
    for number in named:
        if not 0 <= number + rank < 2 * rank:
            raise ValueError(f"axis {number} of {rank}")
        flags[number] += 1
    if flags.max(initial=0) > 1:
        raise ValueError(f"an axis comes twice in {named}")
    return np.flatnonzero(flags == 0).tolist(), np.flatnonzero(flags).tolist()


def numbers_in(arguments):
    return tuple(np.ravel(arguments).astype(int).tolist())
