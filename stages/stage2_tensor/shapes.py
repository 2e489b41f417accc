# Generated from solutions/stage2_tensor/shapes.py. The bodies are yours to write.
"""What happens to shapes: the arithmetic of axes behind the operations. Arrays in, arrays out."""

import math

import numpy as np


def unbroadcast(gradient, shape):
    """Return the array `gradient` summed to `shape`, which broadcasting had stretched to its own.

    Leading axes that `shape` lacks are summed away; those of length 1 in it are summed and stay.
    """
    raise NotImplementedError("2.3 unbroadcast")


def axes_of(axis, ndim):
    """Return `axis` as a tuple of numbers from 0; ValueError: out of range, or named twice."""
    axes = tuple(range(ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return np.lib.array_utils.normalize_axis_tuple(axes, ndim)


def with_axes(g, axes, shape):
    """Return g with the reduced `axes` of `shape` back in place, with length 1."""
    return g.reshape([1 if i in axes else n for i, n in enumerate(shape)])


def unpacked(numbers):
    """Return the arguments `f(1, 2)` or `f((1, 2))` as a tuple of numbers."""
    return tuple(numbers[0]) if len(numbers) == 1 and not isinstance(numbers[0], int) else numbers


def chooses_once(index):
    """Say whether an index holds no array, so that it cannot choose an element twice."""
    parts = index if isinstance(index, tuple) else (index,)
    return not any(isinstance(part, bool | np.bool_ | np.ndarray) for part in parts)


def flat_rows(rows, index, g):
    """Return three arrays for np.add.at, flattened if `index` is one of integers: 3 times as fast.

    So it adds elements of g to elements, where it would add rows of g to rows.
    """
    if not isinstance(index, np.ndarray) or index.dtype.kind not in "iu":
        return rows, index, g
    width = math.prod(rows.shape[1:])
    places = index.reshape(-1, 1).astype(np.intp) % max(len(rows), 1) * width + np.arange(width)
    return rows.reshape(-1), places.reshape(-1), g.reshape(-1)
