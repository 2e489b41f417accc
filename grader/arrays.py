"""What checks of tensors draw: shapes, arrays of readable numbers, indices.

Lengths differ along the axes, so that an exchanged axis shows; arrays lie in memory by
rows or by columns; both float types come up.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from grader.strategies import numbers, pick, positions

SIDES = (2, 3, 1, 4)
DTYPES = ("float32", "float64")
MAX_ELEMENTS = 24


@cache
def dtypes() -> st.SearchStrategy[str]:
    return st.sampled_from(DTYPES)


@st.composite
def shapes(
    draw: Any, low: int = 0, high: int = 4, sides: Sequence[int] = SIDES, empty: bool = False
) -> tuple[int, ...]:
    """Shapes of `low` to `high` axes and at most 24 elements; with `empty`, a length may be 0."""
    rank = low + draw(positions(high - low + 1))
    pool = (*sides, 0) if empty else tuple(sides)
    shape: list[int] = []
    for _ in range(rank):
        side = pick(draw, pool)
        shape.append(side if np.prod([*shape, side]) <= MAX_ELEMENTS else 1)
    return tuple(shape)


@st.composite
def arrays(
    draw: Any,
    shape: Any,
    dtype: Any = "float32",
    low: float = -3.0,
    high: float = 3.0,
    away: float = 0.3,
    distinct: bool = False,
) -> np.ndarray:
    """Arrays of numbers with two digits; `shape` and `dtype` are drawn if they are strategies.

    With `distinct`, no two elements are equal. Where there are two axes or more,
    the array may lie in memory by columns.
    """
    shape = draw(shape) if isinstance(shape, st.SearchStrategy) else shape
    dtype = draw(dtype) if isinstance(dtype, st.SearchStrategy) else dtype
    count = int(np.prod(shape))
    pool = numbers(low, high, away)
    items = draw(st.lists(pool, min_size=count, max_size=count, unique=distinct))
    array = np.array(items, dtype).reshape(shape)
    return np.asfortranarray(array) if len(shape) > 1 and draw(positions(2)) else array


@st.composite
def pairs_to_broadcast(draw: Any, dtype: Any = "float32", low: float = -3.0) -> list[np.ndarray]:
    """Two arrays whose shapes broadcast: axes missing in front, of length 1, or equal."""
    whole = draw(shapes(empty=True))
    dtype = draw(dtype) if isinstance(dtype, st.SearchStrategy) else dtype
    found = []
    for _ in range(2):
        rank = draw(positions(len(whole) + 1))
        part = whole[rank:]
        part = tuple(1 if draw(positions(3)) == 0 else n for n in part)
        found.append(draw(arrays(part, dtype, low)))
    return found


@cache
def weights() -> st.SearchStrategy[tuple[float, ...]]:
    """Seven numbers for `spread`: gradients that arrive from above, no two neighbours alike."""
    return st.lists(numbers(), min_size=7, max_size=7, unique=True).map(tuple)


def spread(weights: Sequence[float], shape: Sequence[int], dtype: Any) -> np.ndarray:
    """Return an array of `shape`, filled with the weights over and over."""
    return np.resize(np.array(weights, dtype), tuple(shape))


@st.composite
def axes(draw: Any, rank: int, whole: bool = True) -> Any:
    """What `axis` may be for an array of this rank: a number, a tuple, both of either sign, None."""
    kinds = ["number"] * (rank > 0) + ["tuple"] * (rank > 1) + ["none"] * whole
    kind = pick(draw, kinds)
    if kind == "none":
        return None
    if kind == "number":
        return draw(positions(2 * rank)) - rank
    order = draw(st.permutations(range(rank)))
    chosen = order[: 1 + draw(positions(rank))]
    return tuple(i - rank if draw(positions(2)) else i for i in chosen)


@st.composite
def indices(draw: Any, shape: Sequence[int], arrays_too: bool = True) -> Any:
    """What may stand in x[...] for an array of this shape, none of whose lengths is 0.

    Integers, slices with positive steps, one ..., None; with `arrays_too`, also a boolean mask, or
    one or two integer arrays side by side (then beside slices alone: where an integer is parted
    from an array by a slice, numpy and PyTorch differ).
    """
    rank = len(shape)
    named = draw(positions(rank + 1))
    gap = draw(positions(named + 1))  # how many parts stand before the ellipsis
    axes = [*range(gap), *range(rank - named + gap, rank)]
    special = pick(draw, axes) if arrays_too and axes and draw(positions(2)) else None
    parts: list[Any] = []
    for axis in axes:
        if special is None:
            part = pick(draw, (draw(slices(shape[axis])), draw(integers_along(shape[axis]))))
        elif axis == special:
            part = draw(array_index(shape[axis]))
        elif axis == special + 1 and gap != axes.index(axis) and is_integer_array(parts[-1]):
            part = draw(array_index(shape[axis], like=parts[-1].shape))
        else:
            part = draw(slices(shape[axis]))
        parts.append(part)
    if (named < rank and gap < named) or draw(positions(4)) == 0:
        parts.insert(gap, ...)
    if draw(positions(3)) == 0 and special is None:
        parts.insert(draw(positions(len(parts) + 1)), None)
    return parts[0] if len(parts) == 1 else tuple(parts)


def is_integer_array(part: Any) -> bool:
    return isinstance(part, np.ndarray) and part.dtype.kind == "i"


@st.composite
def integers_along(draw: Any, length: int) -> int:
    """Integers that choose an element of an axis of this length; negative ones too."""
    return draw(positions(2 * length)) - length


@st.composite
def slices(draw: Any, length: int) -> slice:
    """Slices of an axis of this length, with a positive step or none."""
    start = pick(draw, [None, *range(-length, length)])
    stop = pick(draw, [None, *range(-length, length + 1)])
    return slice(start, stop, pick(draw, [None, None, 2, 1]))


@st.composite
def array_index(draw: Any, length: int, like: tuple[int, ...] | None = None) -> np.ndarray:
    """A boolean mask, or integers of one or two axes, repeated and negative ones among them.

    With `like`, integers of this shape.
    """
    if like is None and draw(positions(3)) == 0:
        return np.array([bool(draw(positions(2))) for _ in range(length)])
    shape = like or pick(draw, [(3,), (2,), (1,), (2, 2)])
    items = [draw(integers_along(length)) for _ in range(int(np.prod(shape)))]
    return np.array(items, np.int64).reshape(shape)
