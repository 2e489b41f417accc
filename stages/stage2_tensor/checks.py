"""The laws of tensors, of the backward loop and of broadcasting: milestones 2.1 to 2.3."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grader.checking import (
    ARITHMETIC,
    ERRORS,
    Seed,
    arrays,
    beside,
    cases,
    dtypes,
    each_of,
    expect,
    expect_array,
    expect_close,
    expect_is,
    expect_kind,
    expect_operation,
    expect_program,
    expect_raises,
    fans,
    milestone,
    numbers,
    pairs_to_broadcast,
    programs,
    raises,
    shapes,
    single_operations,
    slopes,
    spread,
    weights,
)

KINDS = ("float32", "float64", "int64", "int32", "bool")
FACTORIES = ("zeros", "ones", "rand", "randn")


def made(stage, name, shape, **options):
    """A new tensor of a factory, with a generator where it draws."""
    if name in ("rand", "randn"):
        return getattr(stage, name)(shape, Seed(7), **options)
    return getattr(stage, name)(shape, **options)


# 2.1 Tensors


@milestone("2.1", examples=40)
@given(array=arrays(shapes(empty=True)))
def test_lists_become_float32(stage, array):
    """A Tensor made of numbers or of lists of them is a float32 array of their shape."""
    tensor = stage.Tensor(array.tolist())
    expect_array(tensor.data, np.array(array.tolist()), "float32", "data")
    expect_close(tensor.shape, np.array(array.tolist()).shape, "shape")
    expect_close(tensor.ndim, np.array(array.tolist()).ndim, "ndim")


@milestone("2.1", examples=20)
@given(items=st.lists(st.integers(-5, 5), min_size=1, max_size=4), nested=st.booleans())
def test_whole_numbers_become_float32(stage, items, nested):
    """A list of whole numbers becomes float32 as well: parameters are made of it."""
    tensor = stage.Tensor([items] if nested else items)
    expect_array(tensor.data, [items] if nested else items, "float32", "data")


@milestone("2.1", examples=40)
@given(array=arrays(shapes(empty=True)), dtype=cases(KINDS))
def test_arrays_keep_their_dtype(stage, array, dtype):
    """A Tensor made of an array keeps its dtype; `dtype` asks for another."""
    array = array.astype(dtype)
    expect_array(stage.Tensor(array).data, array, dtype, "data")
    expect_array(stage.Tensor(array, dtype="float64").data, array, "float64", "data")


@milestone("2.1", examples=10)
@given(items=st.lists(st.booleans(), min_size=1, max_size=4))
def test_truth_values_stay_truth_values(stage, items):
    """A list of True and False becomes a boolean tensor: masks are made of it."""
    expect_array(stage.Tensor(items).data, items, "bool", "data")


@beside
def changed_afterwards(Tensor, array):
    tensor = Tensor(array)
    array[...] = 7
    return tensor.data


@milestone("2.1", examples=10)
@given(array=arrays(shapes(1), dtypes()))
def test_a_tensor_owns_its_array(stage, array):
    """A Tensor holds a copy: what happens to the array later does not change it."""
    expect_array(changed_afterwards(stage.Tensor, array), array, array.dtype, "data")


@milestone("2.1", examples=20)
@given(array=arrays(shapes(0, 2)), flag=st.booleans())
def test_a_new_tensor_is_a_leaf(stage, array, flag):
    """A new Tensor is a leaf without a gradient, and requires one only if told to."""
    tensor = stage.Tensor(array, requires_grad=flag)
    expect_is(tensor.requires_grad, flag, "is not what was asked for", "requires_grad")
    expect_is(tensor.is_leaf, True, "is wrong", "is_leaf")
    expect_is(tensor.grad, None, "is not None", "grad")
    expect_is(stage.Tensor(array).requires_grad, False, "is not False by default", "requires_grad")


@milestone("2.1", examples=10)
@given(items=st.lists(st.integers(-5, 5), min_size=1, max_size=3), dtype=cases(["int64", "bool"]))
def test_only_floating_numbers_have_gradients(stage, items, dtype):
    """Whole numbers and truth values cannot require a gradient: TypeError."""
    array = np.array(items, dtype)
    expect_raises(ERRORS, lambda: stage.Tensor(array, requires_grad=True), "TypeError")


@milestone("2.1", examples=5)
@given(text=cases(["a", "nan?"]))
def test_text_is_no_tensor(stage, text):
    """A Tensor is made of numbers: anything else is a TypeError or a ValueError."""
    expect_raises(ERRORS, lambda: stage.Tensor([text]), "TypeError")


@milestone("2.1", examples=20)
@given(x=numbers(), shape=shapes(0, 3, sides=(1,)), dtype=cases(["float64", "int64", "bool"]))
def test_item_is_a_plain_number(stage, x, shape, dtype):
    """`item()` returns the only element as a Python number, whatever the shape."""
    array = np.full(shape, x).astype(dtype)
    got = stage.Tensor(array).item()
    expect(type(got) is type(array.item()), "is not a plain Python number", got, array.item(), "item()")
    expect_close(got, array.item(), "item()")


@milestone("2.1", examples=10)
@given(array=arrays(shapes(1, 3, sides=(2, 3))))
def test_item_needs_one_element(stage, array):
    """`item()` of several elements is a ValueError."""
    tensor = stage.Tensor(array)
    expect_raises(ERRORS, lambda: tensor.item(), "ValueError")


@milestone("2.1", examples=20)
@given(array=arrays(shapes(0, 3), dtypes()))
def test_numpy_gives_the_array(stage, array):
    """`numpy()` returns the array; where a gradient is required, it is an error: detach first."""
    expect_array(stage.Tensor(array).numpy(), array, array.dtype, "numpy()")
    tensor = stage.Tensor(array, requires_grad=True)
    expect_raises(ERRORS, lambda: tensor.numpy(), "TypeError")


@milestone("2.1", examples=10)
@given(array=arrays(shapes(0, 2)))
def test_numpy_of_a_computed_tensor(stage, array):
    """`numpy()` of a computed tensor is an error where one of its operands requires a gradient."""
    result = stage.Tensor(array, requires_grad=True).astype("float64")
    expect_raises(ERRORS, lambda: result.numpy(), "TypeError")
    expect_array(stage.Tensor(array).astype("float64").numpy(), array, "float64", "numpy()")


@milestone("2.1", examples=20)
@given(array=arrays(shapes(0, 3), dtypes()))
def test_detach_leaves_the_graph(stage, array):
    """`detach()` gives a leaf of the same numbers that no gradient reaches, and changes nothing else."""
    tensor = stage.Tensor(array, requires_grad=True)
    detached = tensor.detach()
    expect(detached is not tensor, "is the tensor itself", label="the result")
    expect_array(detached.data, array, array.dtype, "data")
    expect_is(detached.requires_grad, False, "is not False", "requires_grad")
    expect_is(detached.is_leaf, True, "is not True", "is_leaf")
    expect_is(tensor.requires_grad, True, "of the original is lost", "requires_grad")


@milestone("2.1", examples=30)
@given(array=arrays(shapes(0, 3), dtypes()), dtype=cases(KINDS), flag=st.booleans())
def test_astype_changes_the_dtype(stage, array, dtype, flag):
    """`astype` gives the numbers in another dtype; a floating result still requires the gradient."""
    tensor = stage.Tensor(array, requires_grad=flag)
    result = tensor.astype(dtype)
    expect_array(result.data, array.astype(dtype), dtype, "data")
    floating = dtype.startswith("float")
    expect_is(result.requires_grad, flag and floating, "is wrong", "requires_grad")
    expect_array(tensor.data, array, array.dtype, "the original's data")


@milestone("2.1", examples=10)
@given(array=arrays(shapes(0, 2)))
def test_no_grad_records_nothing(stage, array):
    """What is computed inside `no_grad()` requires no gradient; afterwards all is as before."""
    tensor = stage.Tensor(array, requires_grad=True)
    with stage.no_grad():
        inside = tensor.astype("float64")
    outside = tensor.astype("float64")
    expect_is(inside.requires_grad, False, "of a result inside is not False", "requires_grad")
    expect_is(inside.is_leaf, True, "of a result inside is not True", "is_leaf")
    expect_is(outside.requires_grad, True, "of a result afterwards is not True", "requires_grad")
    expect_is(outside.is_leaf, False, "of a result afterwards is not False", "is_leaf")


@milestone("2.1", examples=5)
@given(array=arrays(shapes(0, 2)))
def test_no_grad_inside_no_grad(stage, array):
    """Where `no_grad()` blocks stand in one another, the outer one goes on after the inner one."""
    tensor = stage.Tensor(array, requires_grad=True)
    with stage.no_grad():
        with stage.no_grad():
            pass
        inside = tensor.astype("float64")
    expect_is(inside.requires_grad, False, "of a result inside is not False", "requires_grad")


@beside
def broken_off(Tensor, no_grad, array):
    try:
        with no_grad():
            raise KeyError("on purpose")
    except KeyError:
        pass
    return Tensor(array, requires_grad=True).astype("float64").requires_grad


@milestone("2.1", examples=5)
@given(array=arrays((2,)))
def test_no_grad_ends_with_its_block(stage, array):
    """`no_grad()` ends with its block, also where that is left by an exception."""
    expect_is(broken_off(stage.Tensor, stage.no_grad, array), True, "is off for good", "recording")


@milestone("2.1", examples=30)
@given(shape=shapes(empty=True), name=cases(FACTORIES), dtype=dtypes(), flag=st.booleans())
def test_new_tensors(stage, shape, name, dtype, flag):
    """zeros, ones, rand and randn have the shape that is asked for, in float32 or in `dtype`."""
    expect_new(made(stage, name, shape), name, shape, "float32")
    tensor = made(stage, name, shape, requires_grad=flag, dtype=dtype)
    expect_new(tensor, name, shape, dtype)
    expect_is(tensor.requires_grad, flag, "is not what was asked for", "requires_grad")


def expect_new(tensor, name, shape, dtype):
    if name in ("zeros", "ones"):
        expect_array(tensor.data, getattr(np, name)(shape), dtype, "data")
    expect_close(tensor.data.shape, shape, "shape")
    expect(tensor.data.dtype == dtype, "is not what was asked for", tensor.data.dtype.name, dtype, "dtype")


# Which numbers are drawn is left open: numpy draws others where float32 is asked of the generator
# itself than where its float64 is rounded.


def numbers_drawn(stage, name, shape, seed):
    array = getattr(stage, name)(shape, Seed(seed)).data
    expect(isinstance(array, np.ndarray), "is not an array", array, label="data")
    expect_close(array.shape, shape, "shape")
    return array


@milestone("2.1", examples=10)
@given(name=cases(["rand", "randn"]), seed=st.integers(0, 999))
def test_draws_follow_the_seed(stage, name, seed):
    """rand and randn draw from the generator that they are given: the same seed, the same numbers."""
    first, again, other = (numbers_drawn(stage, name, (2, 3), number) for number in (seed, seed, seed + 1))
    expect(np.array_equal(again, first), "is another with the same seed", label="data of a second draw")
    expect(bool((first != other).all()), "is the same with another seed", other, label="data")


@milestone("2.1", examples=10)
@given(name=cases(["rand", "randn"]), seed=st.integers(0, 999))
def test_draws_are_spread(stage, name, seed):
    """rand draws evenly from [0, 1), randn from the normal distribution of mean 0 and variance 1."""
    array = numbers_drawn(stage, name, (2000,), seed)
    mean, variance, *margins = (0.5, 1 / 12, 0.039, 0.011) if name == "rand" else (0.0, 1.0, 0.135, 0.19)  # six sigma
    expect(abs(array.var() - variance) < margins[1], "is off", float(array.var()), variance, "variance of 2000 draws")
    expect(abs(array.mean() - mean) < margins[0], "is off", float(array.mean()), mean, "mean of 2000 draws")
    if name == "rand":
        expect(bool(((array >= 0) & (array < 1)).all()), "leaves [0, 1)", label="data")


@milestone("2.1", examples=10)
@given(shape=shapes(), x=numbers())
def test_full_holds_one_number(stage, shape, x):
    """`full` holds the number everywhere, in float32."""
    expect_array(stage.full(shape, x).data, np.full(shape, x), "float32", "data")


# 2.2 Elementwise, and the backward loop

EIGHT = (4, 2)


@milestone("2.2", examples=120)
@given(program=single_operations(ARITHMETIC, lanes=4), weights=weights(), dtype=dtypes())
def test_one_operation(stage, program, weights, dtype):
    """`+ - * / **` and `-` work element by element, forward and backward, with a number on either side."""
    expect_program(stage, program.reshaped((2, 2)), weights, dtype)


@milestone("2.2", examples=40)
@given(program=programs(steps=6, lanes=2, reuse=True), weights=weights())
def test_chain_rule(stage, program, weights):
    """A program on tensors has the values and gradients of the same program on plain numbers."""
    expect_program(stage, program.reshaped((2, 1)), weights, "float64")


@milestone("2.2", examples=40)
@given(program=fans(lanes=2), weights=weights())
def test_each_use_of_a_tensor_adds_its_gradient(stage, program, weights):
    """Gradients of a tensor used more than once add up."""
    expect_program(stage, program, weights, "float64")


@milestone("2.2", examples=30)
@given(program=single_operations(("add", "mul", "sub", "div", "powv"), twins=True, lanes=2), weights=weights())
def test_one_tensor_as_both_operands(stage, program, weights):
    """In `a + a` or `a * a`, the tensor gets the gradients of both places."""
    expect_program(stage, program, weights, "float64")


@milestone("2.2", examples=40)
@given(array=arrays((2, 3), dtypes()), other=arrays((2, 3), "float64"), op=cases("+-*/"), weights=weights())
def test_an_array_on_the_left(stage, array, other, op, weights):
    """An array on the left of a tensor is an operand like any other: the result is a Tensor."""
    other = other.astype(array.dtype)
    forms = {"+": lambda x: other + x, "-": lambda x: other - x, "*": lambda x: other * x, "/": lambda x: other / x}
    tensor = stage.Tensor(array, requires_grad=True)
    expect_kind(forms[op](tensor), stage.Tensor, "Tensor")
    expect_operation(stage, forms[op], lambda x: eval_op(op, other, x), [array], weights)


def eval_op(op, a, b):
    return {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}[op](a, b)


@milestone("2.2", examples=40)
@given(
    dtype=dtypes(),
    other=cases([2, 0.5, np.float64(0.5), np.float32(0.5), np.array(0.5), np.array([2, 3])]),
    op=cases(["+", "-", "*", "/", "**"]),
    left=st.booleans(),
)
def test_numbers_do_not_widen(stage, dtype, other, op, left):
    """float32 stays float32 beside Python's and numpy's numbers, whole-number arrays and 0-d arrays."""
    tensor = stage.Tensor(np.array([1.5, 2.0], dtype), requires_grad=True)
    other = stage.Tensor(other) if isinstance(other, np.ndarray) else other
    a, b = (other, tensor) if left else (tensor, other)
    calls = {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a / b, "**": lambda: a**b}
    result = calls[op]()
    expect(result.data.dtype == dtype, "is wrong", result.data.dtype.name, dtype, "dtype")
    result.backward(np.ones(2, dtype))
    expect(tensor.grad.dtype == dtype, "is wrong", tensor.grad.dtype.name, dtype, "dtype of the gradient")


@milestone("2.2", examples=40)
@given(
    x=numbers(),
    dtype=cases(["float32", "float64"]),
    other=cases([2, 0.5, np.float64(0.5), np.float32(0.5)]),
    op=cases("+-*/"),
    left=cases([False, True]),
)
def test_numbers_do_not_widen_what_has_no_axes(stage, x, dtype, other, op, left):
    """A number takes the dtype of the tensor beside it, where that has no axes, too."""
    tensor = stage.Tensor(np.array(x, dtype), requires_grad=True)
    a, b = (other, tensor) if left else (tensor, other)
    result = {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a / b}[op]()
    expect_array(result.data, eval_op(op, *(float(other), x) if left else (x, float(other))), dtype, "data")
    result.backward()
    expect(tensor.grad.dtype == dtype, "is wrong", tensor.grad.dtype.name, dtype, "dtype of the gradient")


@milestone("2.2", examples=30)
@given(a=arrays((3,), "float32"), b=arrays((3,), "float64"), swap=st.booleans(), weights=weights())
def test_each_gradient_in_its_own_dtype(stage, a, b, swap, weights):
    """float32 with float64 gives float64; each operand's gradient comes in the operand's own dtype."""
    x, y = stage.Tensor(a, requires_grad=True), stage.Tensor(b, requires_grad=True)
    result = y * x if swap else x * y
    expect_array(result.data, a.astype(float) * b, "float64", "data")
    upstream = spread(weights, (3,), "float64")
    result.backward(upstream)
    expect_array(x.grad, upstream * b, "float32", "gradient of the float32 operand")
    expect_array(y.grad, upstream * a, "float64", "gradient of the float64 operand")


@milestone("2.2", examples=30)
@given(items=st.lists(st.sampled_from([1, 2, 3, -2, 4]), min_size=2, max_size=3), n=cases([2, 3, -2]))
def test_whole_numbers(stage, items, n):
    """Whole numbers stay whole in + - * and squares; a quotient, a fraction or a negative power makes float32."""
    array = np.array(items)
    tensor = stage.Tensor(array)
    expect_array((tensor + n).data, array + n, "int64", "data of the sum")
    expect_array((tensor * n - tensor).data, array * n - array, "int64", "data of the difference")
    expect_array((tensor / n).data, array / n, "float32", "data of the quotient")
    expect_array((1 / tensor).data, 1 / array, "float32", "data of the quotient")
    expect_array((tensor * 0.5).data, array * 0.5, "float32", "data of the product")
    expect_array((tensor**2).data, array**2, "int64", "data of the square")
    expect_array((tensor**-1).data, 1.0 / array, "float32", "data of the power")


@milestone("2.2", examples=20)
@given(array=arrays((3,), dtypes()), dtype=dtypes(), weights=weights())
def test_a_gradient_through_astype(stage, array, dtype, weights):
    """Through `astype`, the gradient comes back in the operand's own dtype."""
    tensor = stage.Tensor(array, requires_grad=True)
    result = tensor.astype(dtype) * 3.0
    upstream = spread(weights, (3,), dtype)
    result.backward(upstream)
    expect_array(tensor.grad, 3.0 * upstream, array.dtype, "gradient")


@milestone("2.2", examples=10)
@given(array=arrays(shapes(0, 2, sides=(1, 2)), dtypes()))
def test_a_gradient_of_zero_is_a_gradient(stage, array):
    """Where zero arrives, zero goes on: that is not the same as no gradient."""
    tensor = stage.Tensor(array, requires_grad=True)
    (tensor * 3.0).backward(np.zeros_like(array))
    expect_array(tensor.grad, np.zeros_like(array), array.dtype, "gradient")


@milestone("2.2", examples=20)
@given(x=numbers(), shape=shapes(0, 3, sides=(1,)), dtype=dtypes())
def test_backward_starts_with_one(stage, x, shape, dtype):
    """From a result with one element, of whatever shape, backward starts with 1."""
    tensor = stage.Tensor(np.full(shape, x, dtype), requires_grad=True)
    (tensor * tensor * 3.0).backward()
    expect_array(tensor.grad, np.full(shape, 6 * x), dtype, "gradient")


@milestone("2.2", examples=15)
@given(array=arrays(shapes(1, 2, sides=(2, 3))), extra=st.integers(1, 2))
def test_backward_needs_a_gradient_of_the_shape(stage, array, extra):
    """From several elements backward needs a gradient of that shape; an error leaves `grad` alone."""
    tensor = stage.Tensor(array, requires_grad=True)
    result = tensor * 2.0
    expect_raises(ERRORS, lambda: result.backward(), "ValueError")
    wrong = np.ones((extra, *array.shape), "float32")
    expect_raises(ERRORS, lambda: result.backward(wrong), "ValueError")
    expect_is(tensor.grad, None, "is no longer None", "grad")
    result.backward(np.ones(array.shape, "float32"))
    expect_array(tensor.grad, np.full(array.shape, 2.0), "float32", "gradient afterwards")


@milestone("2.2", examples=10)
@given(array=arrays(shapes(0, 1, sides=(1,))))
def test_backward_needs_something_to_reach(stage, array):
    """backward from a result that requires no gradient is a ValueError."""
    result = stage.Tensor(array) * 2.0
    expect_raises(ERRORS, lambda: result.backward(), "ValueError")


@milestone("2.2", examples=30)
@given(program=programs(steps=4, lanes=2, reuse=True), weights=weights())
def test_only_leaves_keep_gradients(stage, program, weights):
    """After backward, leaves that require gradients have them; computed tensors keep None."""
    nodes = program.run_nodes(stage.Tensor)
    count = len(program.arrays())
    nodes[-1].backward(spread(weights, (2,), "float32"))
    for node in nodes[count:]:
        expect_is(node.grad, None, "of a computed tensor is not None", "grad")
        expect_is(node.is_leaf, False, "of a computed tensor is not False", "is_leaf")


@milestone("2.2", examples=40)
@given(a=arrays((2,), "float64"), b=arrays((2,), "float64"), op=cases("+-*/"), first=st.booleans(), weights=weights())
def test_what_requires_no_gradient_gets_none(stage, a, b, op, first, weights):
    """Only what requires a gradient gets one; the other operand stays as it was."""
    x, y = stage.Tensor(a, requires_grad=first), stage.Tensor(b, requires_grad=not first)
    result = {"+": lambda: x + y, "-": lambda: x - y, "*": lambda: x * y, "/": lambda: x / y}[op]()
    upstream = spread(weights, (2,), "float64")
    result.backward(upstream)
    asked, other = (x, y) if first else (y, x)
    wanted = slopes(lambda u, v: eval_op(op, u, v), [a, b], upstream)[0 if first else 1]
    expect_array(asked.grad, wanted, "float64", "gradient")
    expect_is(other.grad, None, "of the operand that requires none is not None", "grad")
    expect_is((other * 2.0).requires_grad, False, "is not False", "requires_grad")


@milestone("2.2", examples=20)
@given(array=arrays((2,), "float64"), weights=weights())
def test_two_losses_add_up(stage, array, weights):
    """After backward of two losses, a leaf holds the sum of both gradients."""
    tensor = stage.Tensor(array, requires_grad=True)
    upstream = spread(weights, (2,), "float64")
    (tensor * tensor).backward(upstream)
    (tensor * 5.0).backward(upstream)
    expect_array(tensor.grad, upstream * (2 * array + 5), "float64", "gradient")


@milestone("2.2", examples=20)
@given(array=arrays((2,), "float64"), weights=weights())
def test_a_second_pass(stage, array, weights):
    """With `retain_graph` a second pass adds the same again; without, it does so too or is refused."""
    tensor = stage.Tensor(array, requires_grad=True)
    upstream = spread(weights, (2,), "float64")
    result = (tensor * tensor) * 3.0
    result.backward(upstream, retain_graph=True)
    expect_array(tensor.grad, 6 * array * upstream, "float64", "gradient")
    result.backward(upstream)
    expect_array(tensor.grad, 12 * array * upstream, "float64", "gradient of two passes")
    expect_third_pass(stage, tensor, result, array, upstream)


def expect_third_pass(stage, tensor, result, array, upstream):
    """A pass over a freed graph is right, or refused with nothing changed."""
    refused = raises(lambda: result.backward(upstream))
    times = 12 if refused else 18
    expect_array(tensor.grad, times * array * upstream, "float64", "gradient of one more pass")


@milestone("2.2", examples=20)
@given(array=arrays((2,), "float64"), weights=weights(), first=cases([True, False]))
def test_a_freed_part_is_refused_whole(stage, array, weights, first):
    """Where a part of a graph is freed, another loss over it is right, or refused with nothing changed."""
    x, y = stage.Tensor(array, requires_grad=True), stage.Tensor(array, requires_grad=True)
    upstream = spread(weights, (2,), "float64")
    shared = x * x
    (shared * 3.0).backward(upstream)
    loss = shared * 2.0 + y if first else y + shared * 2.0
    refused = raises(lambda: loss.backward(upstream))
    expect_array(x.grad, (6 if refused else 10) * array * upstream, "float64", "gradient")
    if refused:
        expect_is(y.grad, None, "was changed by a refused pass", "grad")


@milestone("2.2", examples=20)
@given(base=cases([0.0, 2.0, -3.0]), weight=numbers(), dtype=dtypes())
def test_slope_of_the_zeroth_power(stage, base, weight, dtype):
    """`x ** 0` is 1 with the slope 0, at x = 0 too."""
    tensor = stage.Tensor(np.array([base, 1.5], dtype), requires_grad=True)
    result = tensor**0
    expect_array(result.data, [1.0, 1.0], dtype, "data")
    result.backward(np.array([weight, weight], dtype))
    expect_array(tensor.grad, [0.0, 0.0], dtype, "gradient")


@milestone("2.2", examples=20)
@given(power=cases([1, 2, 3.0]), weight=numbers(), dtype=dtypes())
def test_powers_of_zero(stage, power, weight, dtype):
    """At x = 0, the slope of `x ** 1` is 1, that of higher powers 0."""
    tensor = stage.Tensor(np.array([0.0, 2.0], dtype), requires_grad=True)
    (tensor**power).backward(np.array([weight, weight], dtype))
    slope = [1.0 if power == 1 else 0.0, power * 2.0 ** (power - 1)]
    expect_array(tensor.grad, weight * np.array(slope), dtype, "gradient")


@milestone("2.2", examples=20)
@given(exponent=cases([2.0, 3.0]), weight=numbers())
def test_exponents_where_there_is_no_logarithm(stage, exponent, weight):
    """The gradient of an exponent is 0 at base 0 and NaN at a negative base; the base has its own."""
    base = np.array([0.0, -2.0, 3.0])
    x, n = stage.Tensor(base, requires_grad=True), stage.Tensor(np.full(3, exponent), requires_grad=True)
    (x**n).backward(np.full(3, weight))
    expect_array(x.grad, weight * exponent * base ** (exponent - 1), "float64", "gradient of the base")
    wanted = [0.0, math.nan, weight * 3.0**exponent * math.log(3.0)]
    expect_array(n.grad, wanted, "float64", "gradient of the exponent")


@milestone("2.2", examples=20)
@given(array=arrays((2,), "float64"), op=cases(["+=", "-=", "*=", "/="]), weights=weights())
def test_in_place_operators_rebind(stage, array, op, weights):
    """`y += z` makes a new tensor: what was computed with the old y keeps its values and gradients."""
    x, z = stage.Tensor(array, requires_grad=True), stage.Tensor(np.array([2.0, 4.0]))
    y = x * 1.0
    square = y * y
    new = y
    if op == "+=":
        new += z
    elif op == "-=":
        new -= z
    elif op == "*=":
        new *= z
    else:
        new /= z
    expect_array(y.data, array, "float64", "data of the old tensor")
    expect_array(x.data, array, "float64", "data of the leaf")
    upstream = spread(weights, (2,), "float64")
    square.backward(upstream)
    expect_array(x.grad, 2 * array * upstream, "float64", "gradient")


@milestone("2.2", examples=20)
@given(array=arrays((2,), "float64"), op=cases(["+=", "*="]), weights=weights())
def test_in_place_operators_are_recorded(stage, array, op, weights):
    """`x += y` inside a computation passes gradients as `x = x + y` does."""
    x, y = stage.Tensor(array, requires_grad=True), stage.Tensor(np.array([2.0, 4.0]), requires_grad=True)
    result = x * 3.0
    if op == "+=":
        result += y
    else:
        result *= y
    upstream = spread(weights, (2,), "float64")
    result.backward(upstream)
    in_x, in_y = (3.0, 1.0) if op == "+=" else (3.0 * np.array([2.0, 4.0]), 3.0 * array)
    expect_array(x.grad, upstream * in_x, "float64", "gradient")
    expect_array(y.grad, upstream * in_y, "float64", "gradient of the added")


@milestone("2.2", examples=20)
@given(array=arrays((2,), "float64"), weights=weights(), inside=cases([True, False]))
def test_branches_outside_the_loss(stage, array, weights, inside):
    """What is computed beside the loss has no part in its gradients."""
    x = stage.Tensor(array, requires_grad=True)
    y = x * 3.0
    loss = y * 2.0 if inside else y
    beside_the_loss = y * 100.0
    upstream = spread(weights, (2,), "float64")
    loss.backward(upstream)
    expect_array(x.grad, (6.0 if inside else 3.0) * upstream, "float64", "gradient")
    expect_array(beside_the_loss.data, 300.0 * array, "float64", "data of the other branch")


@milestone("2.2", examples=20)
@given(a=shapes(1, 2, sides=(2, 3)), b=cases([(4,), (5, 4), (4, 2, 3)]), op=cases("+-*/"))
def test_shapes_that_do_not_fit(stage, a, b, op):
    """Operands whose shapes cannot be broadcast are a ValueError that changes nothing."""
    x, y = stage.Tensor(np.ones(a), requires_grad=True), stage.Tensor(np.ones(b), requires_grad=True)
    if np_broadcasts(a, b):
        return
    calls = {"+": lambda: x + y, "-": lambda: x - y, "*": lambda: x * y, "/": lambda: x / y}
    expect_raises(ERRORS, calls[op], "ValueError")
    expect_array(x.data, np.ones(a), "float64", "data")


def np_broadcasts(a, b):
    try:
        np.broadcast_shapes(a, b)
    except ValueError:
        return False
    return True


@beside
def doubled(Tensor, array, times):
    leaf = Tensor(array, requires_grad=True)
    value = leaf
    for _ in range(times):
        value = value + value
    value.backward(0 * array + 1)
    return leaf.grad


@milestone("2.2", examples=5)
@given(array=arrays((2,), "float64"), times=st.integers(58, 62))
def test_each_node_is_visited_once(stage, array, times):
    """Sixty doublings are sixty nodes, not 2 ** 60 paths: backward is done at once."""
    got = doubled(stage.Tensor, array, times)
    expect_array(got, np.full(2, 2.0**times), "float64", "gradient")


# 2.3 Broadcasting


def stretched():
    """A shape, and an array of one that broadcasting makes of it: axes in front, of length 1, or both."""
    return each_of(*[stretched_by(extra, ones) for extra in (0, 1, 2) for ones in (0, 1, 2)], stretched_by(3, 0, 0))


@st.composite
def stretched_by(draw, extra, ones, rank=2):
    whole = draw(shapes(extra + rank, extra + rank, empty=True))
    chosen = draw(st.permutations(range(rank)))[:ones]
    part = tuple(1 if i in chosen else n for i, n in enumerate(whole[extra:]))
    return part, draw(arrays(whole, dtypes()))


@milestone("2.3", examples=150)
@given(case=stretched())
def test_unbroadcast(stage, case):
    """`unbroadcast` sums a gradient over every place that an element was copied to."""
    shape, gradient = case
    got = stage.unbroadcast(gradient, shape)
    size = int(np.prod(shape))
    origin = np.broadcast_to(np.arange(size).reshape(shape), gradient.shape)
    sums = np.bincount(origin.ravel(), gradient.ravel(), size).reshape(shape)
    expect_array(got, sums, gradient.dtype, "the gradient")


@milestone("2.3", examples=80)
@given(pair=pairs_to_broadcast(dtypes()), weights=weights())
def test_broadcast_sums(stage, pair, weights):
    """`a + b` broadcasts, and gives each operand a gradient of its own shape."""
    expect_operation(stage, lambda a, b: a + b, np.add, pair, weights)


@milestone("2.3", examples=80)
@given(pair=pairs_to_broadcast(dtypes()), weights=weights())
def test_broadcast_differences(stage, pair, weights):
    """`a - b` broadcasts, and gives each operand a gradient of its own shape."""
    expect_operation(stage, lambda a, b: a - b, np.subtract, pair, weights)


@milestone("2.3", examples=80)
@given(pair=pairs_to_broadcast(dtypes()), weights=weights())
def test_broadcast_products(stage, pair, weights):
    """`a * b` broadcasts, and gives each operand a gradient of its own shape."""
    expect_operation(stage, lambda a, b: a * b, np.multiply, pair, weights)


@milestone("2.3", examples=80)
@given(pair=pairs_to_broadcast("float64"), weights=weights())
def test_broadcast_quotients(stage, pair, weights):
    """`a / b` broadcasts, and gives each operand a gradient of its own shape."""
    expect_operation(stage, lambda a, b: a / b, np.divide, pair, weights)


@milestone("2.3", examples=80)
@given(pair=pairs_to_broadcast("float64", low=0.3), weights=weights())
def test_broadcast_powers(stage, pair, weights):
    """`a ** b` broadcasts, and gives each operand a gradient of its own shape."""
    expect_operation(stage, lambda a, b: a**b, np.power, pair, weights)


@milestone("2.3", examples=40)
@given(pair=pairs_to_broadcast("float64"), weights=weights())
def test_broadcast_operands_used_again(stage, pair, weights):
    """A broadcast operand that is used again adds up gradients of its own shape."""
    expect_operation(stage, lambda a, b: a * b + b - a * 2.0, lambda a, b: a * b + b - a * 2.0, pair, weights)


@milestone("2.3", examples=30)
@given(array=arrays(shapes(1, 3), dtypes()), x=numbers(), weights=weights())
def test_a_scalar_tensor_meets_an_array(stage, array, x, weights):
    """A tensor without axes broadcasts against any shape, and its gradient has none either."""
    scalar = np.array(x, array.dtype)
    expect_operation(stage, lambda a, b: a * b, np.multiply, [scalar, array], weights)
    expect_operation(stage, lambda a, b: a - b, np.subtract, [array, scalar], weights)
