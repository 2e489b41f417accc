"""Sums that undo broadcasting, one axis after another."""


def unbroadcast(gradient, shape):
    """Return `gradient` summed over what was stretched, until it has `shape`."""
    while gradient.ndim > len(shape):
        gradient = gradient.sum(axis=0)
    for axis, length in enumerate(shape):
        if length != gradient.shape[axis]:
            gradient = gradient.sum(axis=axis, keepdims=True)
    return gradient


def positive(axis, rank):
    """Return an `axis` argument as a list of different numbers from 0; ValueError otherwise."""
    if axis is None:
        return list(range(rank))
    found = []
    for number in axis if isinstance(axis, tuple | list) else [axis]:
        if not -rank <= number < rank:
            raise ValueError(f"there is no axis {number} in {rank} axes")
        if number % rank in found:
            raise ValueError(f"axis {number} is named twice")
        found.append(number % rank)
    return found
