"""The laws of memory and of the graph: milestone 2.9. Memory is measured from outside the worker."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grader.checking import (
    arrays,
    beside,
    cases,
    expect,
    expect_array,
    growth_of_memory,
    milestone,
    numbers,
    peak_of_memory,
    spread,
    weights,
)

MEGABYTE = 2**20
SIDE = 3_000_000  # elements of float32: blocks of 12 MB, which the system takes back at once
BLOCK = 4 * SIDE
STEPS = 12


@milestone("2.9", examples=30)
@given(a=arrays((2,), "float64"), b=arrays((2,), "float64"), weights=weights(), op=cases(["+", "-", "reshape", "sum"]))
def test_gradients_are_not_shared(stage, a, b, weights, op):
    """Two tensors never share one array as their gradient: a later sum must not reach both."""
    x, y = stage.Tensor(a, requires_grad=True), stage.Tensor(b, requires_grad=True)
    upstream = spread(weights, (2,), "float64")
    if op == "+":
        (x + y).backward(upstream)
    elif op == "-":
        (x - y * -1.0).backward(upstream)
    elif op == "reshape":
        (x.reshape(2) + y.reshape(2)).backward(upstream)
    else:
        (x + y).sum().backward()
        upstream = np.ones(2)
    (x * 3.0).backward(np.ones(2))
    expect_array(x.grad, upstream + 3.0, "float64", "gradient")
    expect_array(y.grad, upstream, "float64", "gradient of the other")


@beside
def written_into(Tensor, a, b, upstream):
    x, y = Tensor(a, requires_grad=True), Tensor(b, requires_grad=True)
    (x + y).backward(upstream)
    x.grad[...] = 100.0
    return x.grad, y.grad, upstream


@milestone("2.9", examples=10)
@given(a=arrays((2,), "float64"), b=arrays((2,), "float64"), weights=weights())
def test_a_gradient_is_its_owners_alone(stage, a, b, weights):
    """Writing into one tensor's `grad`, as clipping does, changes no other, nor what backward was given."""
    upstream = spread(weights, (2,), "float64")
    _, other, given_array = written_into(stage.Tensor, a, b, upstream)
    expect_array(other, upstream, "float64", "gradient of the other")
    expect_array(given_array, upstream, "float64", "the array that backward was given")


@milestone("2.9", examples=20)
@given(a=arrays((2,), "float64"), b=arrays((2,), "float64"), weights=weights())
def test_no_gradient_is_added_to_in_place(stage, a, b, weights):
    """In c = a + b, e = c + a, the sum for a does not leak into b."""
    x, y = stage.Tensor(a, requires_grad=True), stage.Tensor(b, requires_grad=True)
    c = x + y
    e = c + x
    upstream = spread(weights, (2,), "float64")
    e.backward(upstream)
    expect_array(x.grad, 2 * upstream, "float64", "gradient of the one used twice")
    expect_array(y.grad, upstream, "float64", "gradient of the other")


@milestone("2.9", examples=20)
@given(a=arrays((2, 3), "float64"), weights=weights())
def test_views_do_not_share_gradients(stage, a, weights):
    """Gradients through reshape, permute, expand and indexing stay apart as well."""
    x = stage.Tensor(a, requires_grad=True)
    y = x.reshape(3, 2).permute(1, 0)
    z = y + y[0] * 2.0
    upstream = spread(weights, (2, 3), "float64")
    z.backward(upstream)
    wanted = upstream.copy()
    wanted[0] += 2.0 * upstream.sum(axis=0)
    expect_array(x.grad, wanted.T.reshape(2, 3), "float64", "gradient")


OPERATIONS = {
    "-x": lambda x, s: -x, "x + 2": lambda x, s: x + 2.0, "1 - x": lambda x, s: 1.0 - x, "x * x": lambda x, s: x * x,
    "2 / x": lambda x, s: 2.0 / x, "x ** 3": lambda x, s: x**3, "astype": lambda x, s: x.astype("float64"),
    "sum": lambda x, s: x.sum(0), "mean": lambda x, s: x.mean(1), "max": lambda x, s: x.max(0), "var": lambda x, s: x.var(1),
    "std": lambda x, s: x.std(1), "x @ x": lambda x, s: x @ x.T, "reshape": lambda x, s: x.reshape(3, 2),
    "permute": lambda x, s: x.permute(1, 0), "expand": lambda x, s: x.expand(2, 2, 3), "flip": lambda x, s: x.flip(0),
    "pad": lambda x, s: x.pad([(1, 1), (0, 2)]), "concat": lambda x, s: s.concat([x, x * 2.0], 1), "x[0]": lambda x, s: x[0],
    "x[[0, 0]]": lambda x, s: x[np.array([0, 0])], "split": lambda x, s: list(x.split([1, 2], 1))[1], "exp": lambda x, s: x.exp(),
    "log": lambda x, s: x.abs().log(), "sqrt": lambda x, s: x.abs().sqrt(), "abs": lambda x, s: x.abs(), "tanh": lambda x, s: x.tanh(),
    "sigmoid": lambda x, s: x.sigmoid(), "relu": lambda x, s: x.relu(), "maximum": lambda x, s: x.maximum(0.35),
    "clip": lambda x, s: x.clip(-1.05, 1.05), "where": lambda x, s: s.where(np.array([True, False, True]), x, 0.5),
    "masked_fill": lambda x, s: x.masked_fill(np.array([True, False, True]), 0.0), "gather": lambda x, s: x.gather(1, np.array([[0], [2]])),
}  # fmt: skip


@milestone("2.9", examples=70)
@given(array=arrays((2, 3), "float64", distinct=True), name=cases(OPERATIONS), weights=weights())
def test_what_arrives_is_left_as_it_is(stage, array, name, weights):
    """No operation writes into the gradient that arrives: in y + z, both are given the same array."""
    x = stage.Tensor(array, requires_grad=True)
    for first in (True, False):
        y = OPERATIONS[name](x, stage)
        z = stage.Tensor(np.zeros(y.data.shape), requires_grad=True)
        upstream = spread(weights, y.data.shape, "float64")
        (y + z if first else z + y).backward(upstream)
        expect_array(z.grad, upstream, "float64", f"gradient of what is added to the result of {name}")


@milestone("2.9", examples=70)
@given(array=arrays((2, 3), "float64", distinct=True), name=cases(OPERATIONS), weights=weights())
def test_what_has_arrived_is_added_to(stage, array, name, weights):
    """Where a tensor goes into two operations, either may come first: what both send adds up."""
    alone, x, y = (stage.Tensor(array, requires_grad=True) for _ in range(3))
    result = OPERATIONS[name](alone, stage)
    upstream = spread(weights, result.data.shape, "float64")
    result.backward(upstream)
    wanted = alone.grad + np.array(weights[:3])
    ((OPERATIONS[name](x, stage) * upstream).sum() + (x * np.array(weights[:3])).sum()).backward()
    expect_array(x.grad, wanted, "float64", f"gradient of {name} and a product")
    ((y * np.array(weights[:3])).sum() + (OPERATIONS[name](y, stage) * upstream).sum()).backward()
    expect_array(y.grad, wanted, "float64", f"gradient of a product and {name}")


@milestone("2.9", examples=70)
@given(array=arrays((2, 3), "float64", distinct=True), name=cases(OPERATIONS), weights=weights())
def test_a_pass_uses_nothing_up(stage, array, name, weights):
    """After a pass with `retain_graph`, a second one through the same operation sends the same again."""
    x = stage.Tensor(array, requires_grad=True)
    y = OPERATIONS[name](x, stage) * 1.0
    upstream = spread(weights, y.data.shape, "float64")
    y.backward(upstream, retain_graph=True)
    once = x.grad
    y.backward(upstream)
    expect_array(x.grad, 2 * once, "float64", f"gradient of two passes through {name}")


@beside
def deep_chain(Tensor, x, length):
    leaf = Tensor([x], requires_grad=True)
    value = leaf
    for _ in range(length):
        value = value * 0.5 + leaf
    value.backward()
    return leaf.grad, value.data


@milestone("2.9", examples=3, seconds=20)
@given(x=numbers(), length=st.integers(9_000, 10_000))
def test_a_deep_graph(stage, x, length):
    """A chain of 20,000 operations is recorded, walked and dropped: nothing is recursive."""
    gradient, value = deep_chain(stage.Tensor, x, length)
    expect_array(value, [2 * x], "float32", "data")
    expect_array(gradient, [2.0], "float32", "gradient")


@beside
def grown_chain(Tensor, side, steps):
    import numpy

    leaf = Tensor(numpy.ones(side, "float32"), requires_grad=True)
    value = leaf
    for _ in range(steps):
        value = value * 0.5
    return leaf, value


@beside
def backward_of_sum(value, retain_graph):
    total = value.sum()
    total.backward(retain_graph=retain_graph)
    return total


@milestone("2.9", examples=1, seconds=30)
@given(steps=st.just(STEPS))
def test_backward_frees_the_graph(stage, steps):
    """After backward, of a chain of operations only the leaf, its gradient and the results in use remain."""
    stage.Tensor([1.0])  # loads the file first
    with growth_of_memory(stage) as grown:
        _leaf, value = grown_chain(stage.Tensor, SIDE, steps)
        backward_of_sum(value, False)
    # The leaf, its gradient, and the last value: 3 blocks. A graph that stays has two more per step.
    expect(grown.bytes < 6 * BLOCK, f"holds {grown.bytes // BLOCK} arrays where 3 are in use", label="memory")


@beside
def built_and_dropped(Tensor, side, steps):
    import numpy

    leaf = Tensor(numpy.ones(side, "float32"), requires_grad=True)
    value = leaf
    for _ in range(steps):
        value = value * 0.5
    return value.shape


@milestone("2.9", examples=1, seconds=30)
@given(steps=st.just(STEPS))
def test_a_dropped_graph_is_gone(stage, steps):
    """A graph that nobody holds any more is freed at once: no cycle keeps it alive."""
    stage.Tensor([1.0])  # loads the file first
    with growth_of_memory(stage) as grown:
        built_and_dropped(stage.Tensor, SIDE, steps)
    expect(grown.bytes < 3 * BLOCK, f"holds {grown.bytes // BLOCK} arrays where none is in use", label="memory")


@beside
def functions_dropped(Tensor, side):
    import numpy

    value = Tensor(numpy.ones(side, "float32"), requires_grad=True)
    for name in ("abs", "relu", "sqrt", "exp", "tanh", "sigmoid"):
        value = getattr(value * 0.5, name)()
    return value.shape


@milestone("2.9", examples=1, seconds=30)
@given(side=st.just(SIDE))
def test_dropped_functions_are_gone(stage, side):
    """So is a graph of functions: none of their gradient functions holds its own result."""
    stage.Tensor([1.0])  # loads the file first
    with growth_of_memory(stage) as grown:
        functions_dropped(stage.Tensor, side)
    expect(grown.bytes < 2 * BLOCK, f"holds {grown.bytes // BLOCK} arrays where none is in use", label="memory")


@beside
def detached_again_and_again(Tensor, side, steps):
    import numpy

    leaf = Tensor(numpy.ones(side, "float32"), requires_grad=True)
    value = leaf
    for _ in range(steps):
        value = (value * leaf).detach()
    return value


@milestone("2.9", examples=1, seconds=30)
@given(steps=st.just(STEPS))
def test_detach_lets_go(stage, steps):
    """What is detached does not hold what it was computed from."""
    stage.Tensor([1.0])  # loads the file first
    with growth_of_memory(stage) as grown:
        kept = detached_again_and_again(stage.Tensor, SIDE, steps)
    del kept
    expect(grown.bytes < 3 * BLOCK, f"holds {grown.bytes // BLOCK} arrays where 1 is in use", label="memory")


@beside
def recorded_nothing(Tensor, no_grad, side, steps):
    import numpy

    leaf = Tensor(numpy.ones(side, "float32"), requires_grad=True)
    with no_grad():
        value = leaf
        for _ in range(steps):
            value = value * 0.5
    return leaf, value


@milestone("2.9", examples=1, seconds=30)
@given(steps=st.just(STEPS))
def test_no_grad_keeps_nothing(stage, steps):
    """Inside `no_grad()`, a value that is no longer used is freed at once."""
    stage.Tensor([1.0])  # loads the file first
    with growth_of_memory(stage) as grown:
        kept = recorded_nothing(stage.Tensor, stage.no_grad, SIDE, steps)
    del kept
    expect(grown.bytes < 5 * BLOCK, f"holds {grown.bytes // BLOCK} arrays where 2 are in use", label="memory")


@milestone("2.9", examples=1, seconds=30)
@given(steps=st.just(STEPS))
def test_backward_needs_little_more_than_the_graph(stage, steps):
    """While backward is under way, only gradients that are still needed are held."""
    _leaf, value = grown_chain(stage.Tensor, SIDE, steps)
    with peak_of_memory(stage) as peak:
        backward_of_sum(value, True)  # where the graph stays, nothing that is freed makes up for it
    # Two gradients and the leaf's own. To hold every inner gradient takes one block per step.
    expect(peak.bytes < 6 * BLOCK, f"grows by {peak.bytes // BLOCK} arrays where 3 suffice", label="memory")
