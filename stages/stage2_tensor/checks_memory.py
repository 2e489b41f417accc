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
def backward_of_sum(value):
    total = value.sum()
    total.backward()
    return total


@milestone("2.9", examples=1, seconds=30)
@given(steps=st.just(STEPS))
def test_backward_frees_the_graph(stage, steps):
    """After backward, of a chain of operations only the leaf, its gradient and the results in use remain."""
    stage.Tensor([1.0])  # loads the file first
    with growth_of_memory(stage) as grown:
        _leaf, value = grown_chain(stage.Tensor, SIDE, steps)
        backward_of_sum(value)
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
        backward_of_sum(value)
    # Two gradients and the leaf's own. To hold every inner gradient takes one block per step.
    expect(peak.bytes < 6 * BLOCK, f"grows by {peak.bytes // BLOCK} arrays where 3 suffice", label="memory")
