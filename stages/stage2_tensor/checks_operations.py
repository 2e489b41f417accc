"""The laws of reductions, matrices, shapes, indexing and functions: milestones 2.4 to 2.8."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grader.checking import (
    ERRORS,
    FUNCTIONS,
    arrays,
    axes,
    beside,
    cases,
    compare,
    dtypes,
    each_of,
    expect,
    expect_array,
    expect_close,
    expect_is,
    expect_operation,
    expect_program,
    expect_raises,
    indices,
    milestone,
    numbers,
    pairs_to_broadcast,
    programs,
    shapes,
    single_operations,
    spread,
    weights,
)

# 2.4 Reductions


AXES = [
    (0, "none"), (1, "none"), (2, "none"), (3, "none"), (1, "from the start"), (2, "first"), (3, "first"), (2, "from the start"),
    (3, "from the start"), (2, "from the end"), (3, "from the end"), (2, "all"), (3, "all"), (3, "some"), (3, "some"), (3, "some"),
]  # fmt: skip


def to_reduce(**options):
    """An array, an axis argument that fits it, and whether reduced axes stay; of each rank, each kind of argument."""
    return each_of(*[reduction(shapes(rank, rank, sides=(2, 3, 1)), rank, kind, options) for rank, kind in AXES])


@st.composite
def reduction(draw, shape, rank, kind, options):
    array = draw(arrays(shape, dtypes(), **options))
    return array, draw(axis_argument(rank, kind)), draw(st.booleans())


@st.composite
def axis_argument(draw, rank, kind):
    if kind in ("none", "first"):
        return None if kind == "none" else 0
    if kind.startswith("from"):
        return draw(st.integers(0, rank - 1)) - (rank if kind == "from the end" else 0)
    order = draw(st.permutations(range(rank)))[: rank if kind == "all" else 2]
    return tuple(i - rank if draw(st.booleans()) else i for i in order)


def expect_reduction(stage, name, formula, case, weights, **options):
    array, axis, keepdims = case
    expect_operation(
        stage,
        lambda x: getattr(x, name)(axis=axis, keepdims=keepdims, **options),
        lambda x: formula(x, axis=axis, keepdims=keepdims),
        [array],
        weights,
    )


@milestone("2.4", examples=80)
@given(case=to_reduce(), weights=weights())
def test_sum(stage, case, weights):
    """`sum` over None, one axis or several, of either sign, kept or not: value and gradient."""
    expect_reduction(stage, "sum", np.sum, case, weights)


@milestone("2.4", examples=80)
@given(case=to_reduce(), weights=weights())
def test_mean(stage, case, weights):
    """`mean` divides by the number of elements that were added up, forward and backward."""
    expect_reduction(stage, "mean", np.mean, case, weights)


@milestone("2.4", examples=60)
@given(case=to_reduce(distinct=True), weights=weights())
def test_max(stage, case, weights):
    """`max` over any axes; the gradient goes to where the largest element stands."""
    expect_reduction(stage, "max", np.max, case, weights)


@milestone("2.4", examples=60)
@given(case=to_reduce(distinct=True), weights=weights())
def test_min(stage, case, weights):
    """`min` over any axes; the gradient goes to where the smallest element stands."""
    expect_reduction(stage, "min", np.min, case, weights)


@milestone("2.4", examples=40)
@given(
    items=st.lists(st.sampled_from([1.0, 2.0]), min_size=6, max_size=6),
    name=cases(["max", "min"]),
    axis=cases([0, 1, -1, None, (0, 1)]),
    weights=weights(),
)
def test_equal_elements_share_the_gradient(stage, items, name, axis, weights):
    """Where several elements are the largest, they share the gradient evenly."""
    array = np.array(items).reshape(2, 3)
    best = getattr(array, name)(axis=axis, keepdims=True)
    chosen = (array == best) / (array == best).sum(axis=axis, keepdims=True)
    result_shape = getattr(array, name)(axis=axis).shape
    upstream = spread(weights, result_shape, "float64")
    gradient = chosen * upstream.reshape(best.shape)
    tensor = stage.Tensor(array, requires_grad=True)
    getattr(tensor, name)(axis=axis).backward(upstream)
    expect_array(tensor.grad, gradient, "float64", "gradient")


def to_spread():
    """As `to_reduce`; at least two elements are taken together, all of them different."""
    long = {1: [(2,), (3,)], 2: [(2, 3), (3, 2)], 3: [(2, 3, 2), (3, 2, 4), (2, 2, 3)]}
    kinds = [(rank, kind) for rank, kind in AXES if rank]
    return each_of(*[reduction(st.sampled_from(long[rank]), rank, kind, {"distinct": True}) for rank, kind in kinds])


@milestone("2.4", examples=80)
@given(case=to_spread(), correction=cases([None, 0, 1]), weights=weights())
def test_var(stage, case, correction, weights):
    """`var` is the mean square about the mean, over n - 1 unless `correction` says otherwise."""
    options = {} if correction is None else {"correction": correction}
    ddof = 1 if correction is None else correction
    expect_reduction(stage, "var", lambda x, **k: np.var(x, ddof=ddof, **k), case, weights, **options)


@milestone("2.4", examples=80)
@given(case=to_spread(), correction=cases([None, 0, 1]), weights=weights())
def test_std(stage, case, correction, weights):
    """`std` is the root of `var`, with the same `correction`."""
    options = {} if correction is None else {"correction": correction}
    ddof = 1 if correction is None else correction
    expect_reduction(stage, "std", lambda x, **k: np.std(x, ddof=ddof, **k), case, weights, **options)


@milestone("2.4", examples=20)
@given(x=cases([1.0, 2.0, -0.5]), dtype=dtypes(), axis=cases([0, 1, None]), weights=weights())
def test_std_of_equal_elements(stage, x, dtype, axis, weights):
    """Where all elements are equal, `std` is 0 and so is its gradient."""
    array = np.full((2, 4), x, dtype)
    tensor = stage.Tensor(array, requires_grad=True)
    result = tensor.std(axis=axis)
    expect_array(result.data, np.zeros(array.std(axis=axis).shape), dtype, "data")
    result.backward(spread(weights, array.std(axis=axis).shape, dtype))
    expect_array(tensor.grad, np.zeros((2, 4)), dtype, "gradient")


@milestone("2.4", examples=40)
@given(array=arrays(shapes(1, 3, sides=(2, 3)), dtypes(), distinct=True), data=st.integers(-3, 2))
def test_argmax(stage, array, data):
    """`argmax` says where the largest element stands, along an axis or in the flattened array."""
    expect_array(stage.Tensor(array).argmax().data, array.argmax(), "int64", "data")
    axis = max(min(data, array.ndim - 1), -array.ndim)
    result = stage.Tensor(array, requires_grad=True).argmax(axis=axis)
    expect_array(result.data, array.argmax(axis=axis), "int64", "data")
    expect_is(result.requires_grad, False, "of whole numbers is not False", "requires_grad")


@milestone("2.4", examples=20)
@given(items=st.lists(st.sampled_from([1, 2, 3, -2]), min_size=4, max_size=4), axis=cases([0, 1, None]))
def test_reductions_of_whole_numbers(stage, items, axis):
    """Sums of whole numbers are whole, their mean is float32."""
    array = np.array(items).reshape(2, 2)
    expect_array(stage.Tensor(array).sum(axis=axis).data, array.sum(axis=axis), "int64", "data of the sum")
    expect_array(stage.Tensor(array).mean(axis=axis).data, array.mean(axis=axis), "float32", "data of the mean")


@milestone("2.4", examples=20)
@given(name=cases(["sum", "mean", "max", "var"]), axis=cases([2, -3, (0, 2), (1, 1), (0, -2)]))
def test_axes_that_do_not_exist(stage, name, axis):
    """An axis out of range, or named twice, is a ValueError or an IndexError."""
    tensor = stage.Tensor(np.ones((2, 3)), requires_grad=True)
    expect_raises(ERRORS, lambda: getattr(tensor, name)(axis=axis), "ValueError")


@milestone("2.4", examples=30)
@given(shape=cases([(0,), (0, 3), (3, 0)]), axis=cases([0, -1, None]), weights=weights())
def test_empty_sums(stage, shape, axis, weights):
    """The sum over no elements is 0, and its gradient has the operand's empty shape."""
    formula = lambda x: x.sum(axis=axis)  # noqa: E731
    expect_operation(stage, formula, formula, [np.zeros(shape)], weights)


# 2.5 Matrix multiplication


def to_multiply(kinds):
    """Two arrays whose matrix product exists, of the given ranks."""
    return each_of(*[factors(left, right) for left, right in kinds])


@st.composite
def factors(draw, left, right):
    n, k, m = (draw(st.sampled_from(sides)) for sides in ((2, 3, 1), (3, 2, 4), (4, 1, 2)))
    dtype = draw(dtypes())
    a = draw(arrays((*left, n, k) if left is not None else (k,), dtype))
    b = draw(arrays((*right, k, m) if right is not None else (k,), dtype))
    return [a, b]


def expect_product(stage, pair, weights):
    expect_operation(stage, lambda a, b: a @ b, np.matmul, pair, weights)


@milestone("2.5", examples=60)
@given(pair=to_multiply([((), ())]), weights=weights())
def test_matrices(stage, pair, weights):
    """The product of two matrices, and its gradients: G B^T and A^T G."""
    expect_product(stage, pair, weights)


@milestone("2.5", examples=60)
@given(pair=to_multiply([(None, ()), ((), None), (None, None)]), weights=weights())
def test_vectors(stage, pair, weights):
    """A vector is one row on the left and one column on the right; two give a number."""
    expect_product(stage, pair, weights)


@milestone("2.5", examples=60)
@given(pair=to_multiply([((2,), (2,)), ((2,), ()), ((3, 2), ()), ((2, 1), (2, 1))]), weights=weights())
def test_batches(stage, pair, weights):
    """Axes before the last two hold many matrices: each is multiplied by its own, or by the one there is."""
    expect_product(stage, pair, weights)


@milestone("2.5", examples=60)
@given(pair=to_multiply([((), (2,)), ((2, 1), (2,)), ((1,), (2,)), ((2,), (1,)), ((2,), (2, 1))]), weights=weights())
def test_broadcast_batches(stage, pair, weights):
    """Axes before the last two are broadcast, and gradients are summed back over them."""
    expect_product(stage, pair, weights)


@milestone("2.5", examples=40)
@given(pair=to_multiply([(None, (2,)), ((2,), None), ((2, 1), None), (None, (2, 1))]), weights=weights())
def test_vectors_and_batches(stage, pair, weights):
    """A vector meets a stack of matrices."""
    expect_product(stage, pair, weights)


@milestone("2.5", examples=30)
@given(pair=to_multiply([((), ()), ((2,), ()), (None, ())]), weights=weights())
def test_an_array_times_a_tensor(stage, pair, weights):
    """`array @ tensor` and `tensor @ array` are products of Tensors as well."""
    a, b = pair
    expect_operation(stage, lambda x: a @ x, lambda x: a @ x, [b], weights)
    expect_operation(stage, lambda x: x @ b, lambda x: x @ b, [a], weights)


@milestone("2.5", examples=30)
@given(pair=to_multiply([((), ()), ((2,), ())]), first=st.booleans(), weights=weights())
def test_a_product_with_a_frozen_operand(stage, pair, first, weights):
    """Only the operand that requires a gradient gets one."""
    tensors = [stage.Tensor(x, requires_grad=(i == 0) == first) for i, x in enumerate(pair)]
    result = tensors[0] @ tensors[1]
    result.backward(spread(weights, np.matmul(*pair).shape, pair[0].dtype))
    asked, other = tensors if first else tensors[::-1]
    expect_is(other.grad, None, "of the operand that requires none is not None", "grad")
    expect_close(asked.grad.shape, pair[0 if first else 1].shape, "shape of the gradient")


@milestone("2.5", examples=20)
@given(case=cases([((2, 3), (2, 3)), ((3,), (2,)), ((2, 3), (2,)), ((2, 2, 3), (3, 3, 2)), ((), (2,)), ((2,), ())]))
def test_products_that_do_not_exist(stage, case):
    """Inner lengths that differ, batches that do not fit, and operands without axes are a ValueError."""
    a, b = (stage.Tensor(np.ones(shape), requires_grad=True) for shape in case)
    expect_raises(ERRORS, lambda: a @ b, "ValueError")


@st.composite
def to_reshape(draw):
    """An array and another shape for its elements, perhaps with a -1 in it."""
    array = draw(arrays(shapes(0, 3), dtypes()))
    sizes, rest = [], array.size
    for _ in range(draw(st.integers(0, 3))):
        side = draw(st.sampled_from([n for n in (1, 2, 3, 4) if rest % n == 0]))
        sizes.append(side)
        rest //= side
    sizes.append(rest)
    order = draw(st.permutations(sizes))
    if draw(st.booleans()):
        order[draw(st.integers(0, len(order) - 1))] = -1
    return array, tuple(order)


@milestone("2.5", examples=60)
@given(case=to_reshape(), as_tuple=st.booleans(), weights=weights())
def test_reshape(stage, case, as_tuple, weights):
    """`reshape` keeps the order of the elements, also where they do not lie in memory in that order."""
    array, shape = case
    apply = (lambda x: x.reshape(shape)) if as_tuple else (lambda x: x.reshape(*shape))
    expect_operation(stage, apply, lambda x: x.reshape(shape), [array], weights)


@milestone("2.5", examples=10)
@given(shape=cases([(4,), (5, 1), (2, 4), (-1, 4), (-1, -1)]))
def test_shapes_of_another_size(stage, shape):
    """A shape for another number of elements is a ValueError."""
    tensor = stage.Tensor(np.ones((2, 3)), requires_grad=True)
    expect_raises(ERRORS, lambda: tensor.reshape(*shape), "ValueError")


# 2.6 Shape


@st.composite
def to_permute(draw):
    """An array of rank 2 to 4 and an order of its axes, negative numbers among them."""
    array = draw(arrays(shapes(2, 4), dtypes()))
    order = draw(st.permutations(range(array.ndim)))
    return array, tuple(i - array.ndim if draw(st.booleans()) else i for i in order)


@milestone("2.6", examples=60)
@given(case=to_permute(), as_tuple=st.booleans(), weights=weights())
def test_permute(stage, case, as_tuple, weights):
    """`permute` puts the axes in another order; the gradient goes back in the inverse order."""
    array, order = case
    apply = (lambda x: x.permute(order)) if as_tuple else (lambda x: x.permute(*order))
    expect_operation(stage, apply, lambda x: x.transpose(order), [array], weights)


@milestone("2.6", examples=40)
@given(case=to_permute(), weights=weights())
def test_reshape_after_permute(stage, case, weights):
    """`reshape` after `permute` reads the elements in their new order."""
    array, order = case
    expect_operation(
        stage, lambda x: x.permute(*order).reshape(-1), lambda x: x.transpose(order).reshape(-1), [array], weights
    )


@milestone("2.6", examples=30)
@given(array=arrays(shapes(2, 4), dtypes()), weights=weights())
def test_transposes(stage, array, weights):
    """`transpose` exchanges the last two axes or the two that are named; `T` reverses all."""
    expect_operation(stage, lambda x: x.transpose(), lambda x: x.swapaxes(-1, -2), [array], weights)
    expect_operation(stage, lambda x: x.swapaxes(0, -1), lambda x: x.swapaxes(0, -1), [array], weights)
    expect_operation(stage, lambda x: x.T, lambda x: x.T, [array], weights)


@milestone("2.6", examples=60)
@given(pair=pairs_to_broadcast(dtypes()), weights=weights())
def test_expand(stage, pair, weights):
    """`expand` repeats along axes of length 1 and new leading ones; the gradient is summed back."""
    whole = np.broadcast_shapes(pair[0].shape, pair[1].shape)
    expect_operation(stage, lambda x: x.expand(*whole), lambda x: np.broadcast_to(x, whole), [pair[0]], weights)


@milestone("2.6", examples=40)
@given(array=arrays(shapes(1, 3), dtypes()), weights=weights(), axis=axes(1))
def test_flip(stage, array, weights, axis):
    """`flip` reverses the order along an axis, along several, or along all."""
    expect_operation(stage, lambda x: x.flip(axis), lambda x: np.flip(x, axis), [array], weights)
    all_axes = tuple(range(array.ndim))
    expect_operation(stage, lambda x: x.flip(all_axes), np.flip, [array], weights)


@st.composite
def to_pad(draw):
    """An array and how much to put before and after it on every axis."""
    array = draw(arrays(shapes(1, 3, sides=(2, 1, 3)), dtypes()))
    return array, [(draw(st.integers(0, 2)), draw(st.integers(0, 1))) for _ in array.shape]


@milestone("2.6", examples=40)
@given(case=to_pad(), value=cases([0.0, 1.5, -2.0]), weights=weights())
def test_pad(stage, case, value, weights):
    """`pad` puts a number around the array; the gradient is that of the inside."""
    array, widths = case
    expect_operation(
        stage, lambda x: x.pad(widths, value), lambda x: np.pad(x, widths, constant_values=value), [array], weights
    )


ALONG = [(1, 0), (1, -1), (2, 0), (2, 1), (2, -1), (2, -2), (3, 1), (3, 2), (3, -1), (3, -2)]  # rank and axis


def to_join():
    """Two or three arrays that differ in length along one axis, and that axis."""
    return each_of(*[joined(rank, axis) for rank, axis in ALONG])


@st.composite
def joined(draw, rank, axis):
    shape = draw(shapes(rank, rank, sides=(2, 3)))
    dtype, parts = draw(dtypes()), []
    for _ in range(draw(st.integers(2, 3))):
        own = list(shape)
        own[axis] = draw(st.sampled_from([1, 2, 3]))
        parts.append(draw(arrays(tuple(own), dtype)))
    return parts, axis


@milestone("2.6", examples=40)
@given(case=to_join(), weights=weights())
def test_concat(stage, case, weights):
    """`concat` joins tensors along an axis; each gets its own piece of the gradient."""
    parts, axis = case
    expect_operation(stage, lambda *xs: stage.concat(list(xs), axis), lambda *xs: np.concatenate(xs, axis), parts, weights)


@milestone("2.6", examples=30)
@given(a=arrays((2, 3), "float64"), b=arrays((2, 3), "float64"), axis=st.integers(-3, 2), weights=weights())
def test_stack(stage, a, b, axis, weights):
    """`stack` joins tensors of one shape along a new axis; one of them may come twice."""
    expect_operation(stage, lambda x, y: stage.stack([x, y, x], axis), lambda x, y: np.stack([x, y, x], axis), [a, b], weights)


@milestone("2.6", examples=30)
@given(array=arrays(shapes(1, 3, sides=(1, 2, 3)), dtypes()), axis=st.integers(-2, 1), weights=weights())
def test_axes_of_length_one(stage, array, axis, weights):
    """`unsqueeze` adds an axis of length 1, `squeeze` takes such axes away, `flatten` makes all axes one."""
    expect_operation(stage, lambda x: x.unsqueeze(axis), lambda x: np.expand_dims(x, axis), [array], weights)
    expect_operation(stage, lambda x: x.squeeze(), np.squeeze, [array], weights)
    expect_operation(stage, lambda x: x.flatten(), np.ravel, [array], weights)


@milestone("2.6", examples=20)
@given(name=cases(["permute", "permute again", "expand", "expand less", "flip", "pad", "concat"]))
def test_shape_errors(stage, name):
    """Orders, shapes, axes and widths that do not fit are errors, and change nothing."""
    x, y = stage.Tensor(np.ones((2, 3)), requires_grad=True), stage.Tensor(np.ones((3, 2)))
    calls = {
        "permute": lambda: x.permute(0), "permute again": lambda: x.permute(0, 0), "expand": lambda: x.expand(2, 6),
        "expand less": lambda: x.expand(3), "flip": lambda: x.flip(2), "pad": lambda: x.pad([(1, 1)]),
        "concat": lambda: stage.concat([x, y], 0),
    }  # fmt: skip
    expect_raises(ERRORS, calls[name], "ValueError")
    expect_array(x.data, np.ones((2, 3)), "float64", "data")


# 2.7 Indexing


@st.composite
def to_index(draw, arrays_too):
    shape = draw(shapes(1, 3, sides=(2, 3, 4, 1)))
    return draw(arrays(shape, dtypes())), draw(indices(shape, arrays_too))


@milestone("2.7", examples=100)
@given(case=to_index(False), weights=weights())
def test_basic_indexing(stage, case, weights):
    """Integers, slices, ... and None choose as numpy's do; each element gets its gradient back."""
    array, index = case
    expect_operation(stage, lambda x: x[index], lambda x: x[index], [array], weights)


@milestone("2.7", examples=100)
@given(case=to_index(True), weights=weights())
def test_indexing_with_arrays(stage, case, weights):
    """Integer and boolean arrays choose elements; what is chosen twice gets both gradients."""
    array, index = case
    expect_operation(stage, lambda x: x[index], lambda x: x[index], [array], weights)


@milestone("2.7", examples=30)
@given(array=arrays((3, 2), dtypes()), rows=st.lists(st.integers(-3, 2), min_size=3, max_size=4), weights=weights())
def test_repeated_rows(stage, array, rows, weights):
    """A row chosen several times adds up the gradients of all its places, from a list too."""
    expect_operation(stage, lambda x: x[rows], lambda x: x[rows], [array], weights)


@milestone("2.7", examples=30)
@given(array=arrays((3, 2), dtypes()), mask=st.lists(st.booleans(), min_size=6, max_size=6), weights=weights())
def test_masks(stage, array, mask, weights):
    """A mask of the whole shape chooses the elements where it is True, be it a Tensor or an array."""
    mask = np.array(mask).reshape(3, 2)
    expect_operation(stage, lambda x: x[mask], lambda x: x[mask], [array], weights)
    expect_operation(stage, lambda x: x[stage.Tensor(mask)], lambda x: x[mask], [array], weights)


@milestone("2.7", examples=30)
@given(array=arrays((4, 3), "float64"), weights=weights())
def test_two_indexings_of_one_tensor(stage, array, weights):
    """Parts of one tensor that overlap add up their gradients."""
    expect_operation(stage, lambda x: x[1:3] * x[0:2] + x[2], lambda x: x[1:3] * x[0:2] + x[2], [array], weights)


@milestone("2.7", examples=20)
@given(index=cases([4, -5, (0, 3), (slice(None), 3), np.array([0, 4]), (0, 0, 0)]))
def test_places_that_do_not_exist(stage, index):
    """A place that does not exist is an IndexError."""
    tensor = stage.Tensor(np.ones((4, 3)), requires_grad=True)
    expect_raises(ERRORS, lambda: tensor[index], "IndexError")


def to_split():
    """An array, sizes that add up to its length along an axis, and that axis."""
    return each_of(*[in_pieces(rank, axis) for rank, axis in ALONG])


@st.composite
def in_pieces(draw, rank, axis):
    shape = list(draw(shapes(rank, rank, sides=(2, 3))))
    sizes = draw(st.lists(st.sampled_from([2, 1, 3]), min_size=2, max_size=3))
    shape[axis] = sum(sizes)
    return draw(arrays(tuple(shape), dtypes())), sizes, axis


@milestone("2.7", examples=40)
@given(case=to_split(), weights=weights())
def test_split(stage, case, weights):
    """`split` cuts into pieces of the given sizes; each sends its gradient to its own place."""
    array, sizes, axis = case
    pieces = np.split(array, np.cumsum(sizes)[:-1], axis)
    tensor = stage.Tensor(array, requires_grad=True)
    found = list(tensor.split(sizes, axis))
    expect_close(len(found), len(sizes), "the number of pieces")
    total = []
    for number, (got, piece) in enumerate(zip(found, pieces)):
        expect_array(got.data, piece, array.dtype, "data of a piece")
        upstream = spread(weights[number:] + weights[:number], piece.shape, array.dtype)
        got.backward(upstream)
        total.append(upstream)
    expect_array(tensor.grad, np.concatenate(total, axis), array.dtype, "gradient")


@milestone("2.7", examples=10)
@given(sizes=cases([[1, 1], [2, 2], [4], [1, 3]]))
def test_sizes_that_do_not_add_up(stage, sizes):
    """Sizes that do not add up to the length are a ValueError."""
    tensor = stage.Tensor(np.ones((3, 2)))
    expect_raises(ERRORS, lambda: tensor.split(sizes, 0), "ValueError")


# 2.8 Functions and selection

ALL = (*FUNCTIONS, "add", "mul", "sub")


@milestone("2.8", examples=150)
@given(program=single_operations(FUNCTIONS, lanes=4), weights=weights(), dtype=dtypes())
def test_functions(stage, program, weights, dtype):
    """exp, log, sqrt, tanh, sigmoid, relu, sin and cos, element by element, forward and backward."""
    expect_program(stage, program.reshaped((2, 2)), weights, dtype)


@milestone("2.8", examples=50)
@given(program=programs(ALL, steps=6, lanes=2, reuse=True), weights=weights())
def test_programs_of_functions(stage, program, weights):
    """Programs of functions have the values and gradients of the same programs on plain numbers."""
    expect_program(stage, program, weights, "float64")


@milestone("2.8", examples=30)
@given(array=arrays(shapes(0, 2), dtypes()), weights=weights())
def test_abs(stage, array, weights):
    """`abs` has the slope -1 below 0 and 1 above."""
    expect_operation(stage, lambda x: x.abs(), np.abs, [array], weights)


@milestone("2.8", examples=30)
@given(dtype=dtypes(), name=cases(["relu", "abs"]), weights=weights())
def test_slope_at_the_kink(stage, dtype, name, weights):
    """At 0, the slope of relu and of abs is 0."""
    array = np.array([0.0, -1.5, 0.5, 0.0], dtype)
    upstream = spread(weights, (4,), dtype)
    tensor = stage.Tensor(array, requires_grad=True)
    getattr(tensor, name)().backward(upstream)
    slope = np.array([0, 0 if name == "relu" else -1, 1, 0])
    expect_array(tensor.grad, slope * upstream, dtype, "gradient")


@milestone("2.8", examples=30)
@given(name=cases(["tanh", "sigmoid"]), size=cases([100.0, 1000.0]), dtype=dtypes())
def test_far_out(stage, name, size, dtype):
    """tanh and sigmoid are finite at -1000 and 1000, and so are their gradients."""
    array = np.array([-size, size], dtype)
    tensor = stage.Tensor(array, requires_grad=True)
    result = getattr(tensor, name)()
    expect_array(result.data, [-1.0 if name == "tanh" else 0.0, 1.0], dtype, "data")
    result.backward(np.array([2.0, 3.0], dtype))
    expect_array(tensor.grad, [0.0, 0.0], dtype, "gradient")


@beside
def without_warnings(Tensor, array, name):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return getattr(Tensor(array), name)().data


@milestone("2.8", examples=20)
@given(x=numbers(-3.0, -0.3), name=cases(["log", "sqrt"]), dtype=dtypes())
def test_not_a_number_without_a_warning(stage, x, name, dtype):
    """log and sqrt of a negative number are NaN, without a warning."""
    got = without_warnings(stage.Tensor, np.array([x, 1.0], dtype), name)
    expect_array(got, [math.nan, 0.0 if name == "log" else 1.0], dtype, "data")


@st.composite
def apart(draw):
    """Two arrays that broadcast and have no equal elements in one place."""
    a, b = draw(pairs_to_broadcast("float64"))
    return [a, np.asarray(b + 0.05)]


@milestone("2.8", examples=60)
@given(pair=apart(), name=cases(["maximum", "minimum"]), weights=weights())
def test_maximum_and_minimum(stage, pair, name, weights):
    """maximum and minimum broadcast; the gradient goes to the operand that was chosen."""
    expect_operation(stage, lambda a, b: getattr(a, name)(b), getattr(np, name), pair, weights)


@milestone("2.8", examples=20)
@given(x=numbers(), name=cases(["maximum", "minimum"]), dtype=dtypes(), weights=weights(), first=cases([True, False]))
def test_ties(stage, x, name, dtype, weights, first):
    """Where both operands of maximum or minimum are equal, each gets half of the gradient."""
    array = np.array([x, 2.0], dtype)
    a, b = stage.Tensor(array, requires_grad=True), stage.Tensor(array, requires_grad=True)
    upstream = spread(weights, (2,), dtype)
    getattr(a, name)(b).backward(upstream)
    for tensor, place in [(a, "first"), (b, "second")][:: 1 if first else -1]:  # in both orders
        expect_array(tensor.grad, upstream / 2, dtype, f"gradient of the {place}")


@milestone("2.8", examples=40)
@given(
    array=arrays(shapes(1, 2), dtypes()),
    bounds=cases([(-1.05, 1.05), (None, 0.55), (-0.45, None), (0.05, 1.25), (0.0, None), (None, 0.0)]),
    weights=weights(),
)
def test_clip(stage, array, bounds, weights):
    """`clip` holds numbers between bounds, each of which may be None; outside, the slope is 0."""
    low, high = bounds
    expect_operation(stage, lambda x: x.clip(low, high), lambda x: np.clip(x, low, high), [array], weights)


@milestone("2.8", examples=20)
@given(dtype=dtypes(), weights=weights())
def test_clip_at_its_bounds(stage, dtype, weights):
    """At its bounds, the slope of clip is 1."""
    tensor = stage.Tensor(np.array([-1.0, 2.0, 3.0, 0.5], dtype), requires_grad=True)
    upstream = spread(weights, (4,), dtype)
    tensor.clip(-1.0, 2.0).backward(upstream)
    expect_array(tensor.grad, upstream * np.array([1, 1, 0, 1]), dtype, "gradient")


@milestone("2.8", examples=60)
@given(pair=pairs_to_broadcast(dtypes()), mask=st.lists(st.booleans(), min_size=4, max_size=4), weights=weights())
def test_where(stage, pair, mask, weights):
    """`where` takes from one or the other; all three broadcast, and gradients follow the choice."""
    whole = np.broadcast_shapes(pair[0].shape, pair[1].shape)
    condition = np.resize(np.array(mask), whole)
    expect_operation(
        stage, lambda a, b: stage.where(stage.Tensor(condition), a, b), lambda a, b: np.where(condition, a, b), pair, weights
    )


@milestone("2.8", examples=30)
@given(array=arrays((2, 3), dtypes()), mask=st.lists(st.booleans(), min_size=3, max_size=3), weights=weights())
def test_where_with_numbers(stage, array, mask, weights):
    """`where` takes numbers and arrays too, and a condition that is broadcast."""
    condition = np.array(mask)
    expect_operation(stage, lambda x: stage.where(condition, x, 0.5), lambda x: np.where(condition, x, 0.5), [array], weights)
    expect_operation(stage, lambda x: stage.where(condition, -2, x), lambda x: np.where(condition, -2, x), [array], weights)


@milestone("2.8", examples=40)
@given(
    array=arrays((2, 3), dtypes()),
    mask=st.lists(st.booleans(), min_size=6, max_size=6),
    value=cases([0.0, -1.5, -math.inf]),
    wide=st.booleans(),
    weights=weights(),
)
def test_masked_fill(stage, array, mask, value, wide, weights):
    """`masked_fill` puts the value where the mask is True; there, no gradient passes."""
    mask = np.array(mask).reshape(2, 3) if wide else np.array(mask[:3])
    gradient = spread(weights, (2, 3), array.dtype) * ~mask
    tensor = stage.Tensor(array, requires_grad=True)
    result = tensor.masked_fill(stage.Tensor(mask), value)
    expect_array(result.data, np.where(mask, value, array), array.dtype, "data")
    expect_array(tensor.data, array, array.dtype, "the operand's data")
    result.backward(spread(weights, (2, 3), array.dtype))
    expect_array(tensor.grad, gradient, array.dtype, "gradient")


@milestone("2.8", examples=30)
@given(bad=cases([math.inf, -math.inf, math.nan]), weights=weights(), first=st.booleans())
def test_what_was_not_chosen_does_not_leak(stage, bad, weights, first):
    """An infinity or NaN that `where` did not choose is neither in the result nor in a gradient."""
    condition = np.array([True, False, True])
    good, spoilt = np.array([1.0, 2.0, 3.0]), np.array([bad, 5.0, bad])
    pair = (good, spoilt) if first else (spoilt, good)
    condition = condition if first else ~condition
    a, b = (stage.Tensor(x, requires_grad=True) for x in pair)
    result = stage.where(condition, a, b)
    expect_array(result.data, [1.0, 5.0, 3.0], "float64", "data")
    upstream = spread(weights, (3,), "float64")
    upstream[1] = bad
    result.backward(upstream)
    expect_array(a.grad, np.where(condition, upstream, 0), "float64", "gradient of the first")
    expect_array(b.grad, np.where(condition, 0, upstream), "float64", "gradient of the second")


def to_gather():
    """An array, an axis, and an index of the array's shape except along that axis."""
    return each_of(*[gathered(rank, axis) for rank, axis in ALONG])


@st.composite
def gathered(draw, rank, axis):
    shape = draw(shapes(rank, rank, sides=(2, 3)))
    own = list(shape)
    own[axis] = draw(st.sampled_from([1, 2, 4]))
    count = int(np.prod(own))
    places = draw(st.lists(st.integers(0, shape[axis] - 1), min_size=count, max_size=count))
    return draw(arrays(shape, dtypes())), axis, np.array(places).reshape(own)


@milestone("2.8", examples=50)
@given(case=to_gather(), weights=weights())
def test_gather(stage, case, weights):
    """`gather` takes, at every place, the element whose number along the axis the index gives."""
    array, axis, index = case
    expect_operation(
        stage, lambda x: x.gather(axis, stage.Tensor(index)), lambda x: np.take_along_axis(x, index, axis), [array], weights
    )


@milestone("2.8", examples=10)
@given(index=cases([np.array([[0], [3]]), np.array([[0], [1], [1]]), np.array([0, 1])]))
def test_gather_needs_places_that_exist(stage, index):
    """`gather` with an index of a wrong shape, or out of range, is an error."""
    tensor = stage.Tensor(np.ones((2, 3)), requires_grad=True)
    expect_raises(ERRORS, lambda: tensor.gather(1, stage.Tensor(index)), "IndexError")


@milestone("2.8", examples=60)
@given(
    items=st.lists(st.sampled_from([1.0, 2.0, -0.5]), min_size=6, max_size=6),
    symbol=cases(["==", "!=", "<", "<=", ">", ">="]),
    number=st.booleans(),
)
def test_comparisons(stage, items, symbol, number):
    """Comparisons give boolean tensors, element by element, that no gradient passes."""
    a, b = np.array(items[:3]), 1.0 if number else np.array(items[3:])
    tensor = stage.Tensor(a, requires_grad=True)
    result = compare(tensor, symbol, b if number else stage.Tensor(b))
    known = {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}
    expect_array(result.data, known[symbol], "bool", "data")
    expect_is(result.requires_grad, False, "of a comparison is not False", "requires_grad")


@milestone("2.8", examples=30)
@given(a=st.lists(st.booleans(), min_size=3, max_size=3), b=st.lists(st.booleans(), min_size=3, max_size=3))
def test_logic(stage, a, b):
    """`~`, `&` and `|` work on boolean tensors, element by element."""
    x, y = stage.Tensor(a), stage.Tensor(b)
    expect_array((x & y).data, np.array(a) & np.array(b), "bool", "data of x & y")
    expect_array((x | y).data, np.array(a) | np.array(b), "bool", "data of x | y")
    expect_array((~x).data, ~np.array(a), "bool", "data of ~x")


@milestone("2.8", examples=30)
@given(program=single_operations(FUNCTIONS, lanes=2))
def test_functions_leave_their_operand_alone(stage, program):
    """A function returns a new Tensor and leaves its operand as it was."""
    inputs, output = program.run(stage.Tensor, "float64")
    for tensor, array in zip(inputs, program.arrays("float64")):
        expect(output is not tensor, "is the operand itself", label="the result")
        expect_array(tensor.data, array, "float64", "an operand's data")
