"""The laws of networks of modules, of hooks, and of the instrument: milestone 3.9."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grader.checking import (
    Seed,
    arrays,
    beside,
    cases,
    expect,
    expect_array,
    expect_close,
    expect_is,
    expect_operation,
    milestone,
    numbers,
    weights,
)


@milestone("3.9", examples=30)
@given(x=arrays((2, 3)), seed=st.integers(0, 99), weights=weights())
def test_sequential(stage, x, seed, weights):
    """Sequential passes x through its modules in their order, and lists their parameters by number."""
    first, second = stage.Linear(3, 4, generator=Seed(seed)), stage.Linear(4, 2, generator=Seed(seed + 1))
    model = stage.Sequential(first, stage.Tanh(), second)
    names = [name for name, _ in model.named_parameters()]
    wanted = ["0.weight", "0.bias", "2.weight", "2.bias"]
    expect(names == wanted, "are wrong", names, wanted, "the names")
    held = [p.data.astype(float) for p in model.parameters()]
    formula = lambda x: np.tanh(x @ held[0].T + held[1]) @ held[2].T + held[3]  # noqa: E731
    expect_operation(stage, lambda x: model(x), formula, [x], weights)


@milestone("3.9", examples=10)
@given(x=arrays((2, 3)), weights=weights())
def test_an_empty_sequential(stage, x, weights):
    """A Sequential without modules returns its input."""
    model = stage.Sequential()
    expect_operation(stage, lambda x: model(x), lambda x: x, [x], weights)


@milestone("3.9", examples=10)
@given(x=arrays((2, 3)), seed=st.integers(0, 99), weights=weights())
def test_a_module_may_stand_in_a_row_twice(stage, x, seed, weights):
    """A module that stands in a Sequential twice is called twice; its parameters are listed once."""
    layer = stage.Linear(3, 3, generator=Seed(seed))
    model = stage.Sequential(layer, stage.Tanh(), layer)
    expect_close(len(list(model.parameters())), 2, "the number of parameters")
    w, b = layer.weight.data.astype(float), layer.bias.data.astype(float)
    expect_operation(stage, lambda x: model(x), lambda x: np.tanh(x @ w.T + b) @ w.T + b, [x], weights)


@milestone("3.9", examples=20)
@given(x=arrays((2, 3)), seed=st.integers(0, 99), weights=weights())
def test_residual(stage, x, seed, weights):
    """Residual(module) is x + module(x): the gradient reaches x on both ways."""
    inner = stage.Linear(3, 3, generator=Seed(seed))
    model = stage.Residual(inner)
    w, b = inner.weight.data.astype(float), inner.bias.data.astype(float)
    expect_operation(stage, lambda x: model(x), lambda x: x + x @ w.T + b, [x], weights)


@beside
def watched(module, x, factor):
    seen = []

    def look(module, inputs, output):
        seen.append((module, inputs[0], output))

    def change(module, inputs, output):
        return output * factor

    first = module.register_forward_hook(look)
    second = module.register_forward_hook(change)
    changed = module(x)
    second.remove()
    plain = module(x)
    first.remove()
    last = module(x)
    return seen, changed.data, plain.data, last.data


@milestone("3.9", examples=20)
@given(x=arrays((2, 3)), factor=numbers())
def test_hooks(stage, x, factor):
    """A forward hook sees module, inputs and output; what it returns takes the output's place; remove() ends it."""
    module = stage.Tanh()
    tensor = stage.Tensor(x)
    seen, changed, plain, last = watched(module, tensor, factor)
    expect_close(len(seen), 2, "the number of calls that the hook saw")
    expect_is(seen[0][0], module, "is not the module", "the module that the hook got")
    expect_is(seen[0][1], tensor, "is not the input", "the input that the hook got")
    expect_array(changed, np.tanh(x) * factor, "float32", "data with the hook")
    expect_array(plain, np.tanh(x), "float32", "data after remove()")
    expect_array(last, np.tanh(x), "float32", "data after both are removed")


@beside
def hooked_twice(module, x, factor):
    first = module.register_forward_hook(lambda module, inputs, output: output + 1.0)
    second = module.register_forward_hook(lambda module, inputs, output: output * factor)
    changed = module(x)
    first.remove()
    once = module(x)
    second.remove()
    return changed.data, once.data


@milestone("3.9", examples=10)
@given(x=arrays((2, 3)), factor=numbers())
def test_hooks_in_a_row(stage, x, factor):
    """Several hooks are called in their order, and each gets what the one before left."""
    changed, once = hooked_twice(stage.Tanh(), stage.Tensor(x), factor)
    expect_array(changed, (np.tanh(x) + 1.0) * factor, "float32", "data with both hooks")
    expect_array(once, np.tanh(x) * factor, "float32", "data with the second one")


@beside
def hooked_once(module, x):
    def hook(module, inputs, output):
        handle.remove()
        return output + 1.0

    handle = module.register_forward_hook(hook)
    last = module.register_forward_hook(lambda module, inputs, output: output * 2.0)
    changed = module(x)
    plain = module(x)
    last.remove()
    return changed.data, plain.data


@milestone("3.9", examples=5)
@given(x=arrays((2, 3)))
def test_a_hook_may_take_itself_off(stage, x):
    """A hook that removes itself while it is called is called that once."""
    changed, plain = hooked_once(stage.Tanh(), stage.Tensor(x))
    expect_array(changed, (np.tanh(x) + 1.0) * 2.0, "float32", "data of the first call")
    expect_array(plain, np.tanh(x) * 2.0, "float32", "data of the second call")


@beside
def chain_of(Module, Sequential, factors):
    class Scale(Module):
        def __init__(self, factor):
            super().__init__()
            self.factor = factor

        def forward(self, x):
            return x * self.factor

    return Sequential(*[Scale(factor) for factor in factors])


@st.composite
def scales(draw):
    """Factors of a chain of layers, ordinary ones."""
    return draw(st.lists(st.sampled_from([1.5, -0.5, 2.0, 0.8]), min_size=3, max_size=5))


def norms_of(factors, arriving):
    """The norm of the gradient at the output of every layer of a chain."""
    found = [np.linalg.norm(arriving)]
    for factor in factors[:0:-1]:
        found.append(found[-1] * abs(factor))
    return found[::-1]


@milestone("3.9", examples=30)
@given(factors=scales(), x=arrays((2, 3), "float64"))
def test_gradient_flow_measures(stage, factors, x):
    """gradient_flow lists, in order of execution, the norm of the gradient at the output of every layer."""
    model = chain_of(stage.Module, stage.Sequential, factors)
    flow = stage.gradient_flow(model)
    result = model(stage.Tensor(x, requires_grad=True))
    arriving = np.arange(1.0, 7.0).reshape(2, 3)
    result.backward(arriving)
    rows = list(flow.rows)
    expect_close(len(rows), len(factors), "the number of rows")
    for number, (row, norm) in enumerate(zip(rows, norms_of(factors, arriving))):
        expect(row.name == str(number), "is wrong", row.name, str(number), "name of a row")
        expect(row.kind == "Scale", "is wrong", row.kind, "Scale", "kind of a row")
        expect_close(row.norm, norm, f"norm at layer {number}", rtol=1e-4)
        expect(row.state == "ok", "is wrong", row.state, "ok", f"state of layer {number}")
    expect_is(flow.first_bad, None, "is not None", "first_bad")


@milestone("3.9", examples=20)
@given(factors=scales(), x=arrays((2, 3), "float64"))
def test_an_instrument_changes_nothing(stage, factors, x):
    """With the instrument on, results and gradients are the same; after remove() it sees nothing more."""
    model = chain_of(stage.Module, stage.Sequential, factors)
    flow = stage.gradient_flow(model)
    tensor = stage.Tensor(x, requires_grad=True)
    result = model(tensor)
    expect_array(result.data, x * np.prod(factors), "float64", "data")
    result.backward(np.ones((2, 3)))
    expect_array(tensor.grad, np.full((2, 3), np.prod(factors)), "float64", "gradient")
    before = [row.norm for row in flow.rows]
    flow.remove()
    model(stage.Tensor(x, requires_grad=True)).backward(np.full((2, 3), 5.0))
    expect_close([row.norm for row in flow.rows], before, "the norms after remove()")


BAD = {"vanished": 1e-9, "exploded": 1e9, "nan": math.nan}


@milestone("3.9", examples=40)
@given(factors=scales(), kind=cases(list(BAD)), data=st.integers(0, 9), x=arrays((2, 3), "float64"))
def test_gradient_flow_finds_the_place(stage, factors, kind, data, x):
    """Where a gradient vanishes, explodes or turns NaN, `first_bad` is the layer whose output it spoils first."""
    place = 1 + data % (len(factors) - 1)  # this layer spoils what arrives at the one before it
    spoilt = [BAD[kind] if i == place else factor for i, factor in enumerate(factors)]
    model = chain_of(stage.Module, stage.Sequential, spoilt)
    flow = stage.gradient_flow(model)
    model(stage.Tensor(x, requires_grad=True)).backward(np.ones((2, 3)))
    bad = flow.first_bad
    expect(bad is not None, "is None", label="first_bad")
    expect(bad.name == str(place - 1), "is wrong", bad.name, str(place - 1), "name of first_bad")
    expect(bad.state == kind, "is wrong", bad.state, kind, "state of first_bad")
    for number, row in enumerate(flow.rows):
        if number >= place:
            expect(row.state == "ok", "is wrong", row.state, "ok", f"state of layer {number}")


@milestone("3.9", examples=10)
@given(factors=scales(), x=arrays((2, 3), "float64"))
def test_a_gradient_of_zero_has_vanished(stage, factors, x):
    """A gradient that is 0, as behind a relu that is never on, has vanished."""
    model = chain_of(stage.Module, stage.Sequential, [*factors, 0.0, 2.0])
    flow = stage.gradient_flow(model)
    model(stage.Tensor(x, requires_grad=True)).backward(np.ones((2, 3)))
    bad = flow.first_bad
    expect(bad is not None, "is None", label="first_bad")
    expect(bad.name == str(len(factors) - 1), "is wrong", bad.name, str(len(factors) - 1), "name of first_bad")
    expect(bad.state == "vanished", "is wrong", bad.state, "vanished", "state of first_bad")


@milestone("3.9", examples=10)
@given(factors=scales(), x=arrays((2, 3), "float64"))
def test_each_pass_has_its_own_table(stage, factors, x):
    """After a second pass the table shows that pass, and does not grow."""
    model = chain_of(stage.Module, stage.Sequential, factors)
    flow = stage.gradient_flow(model)
    for size in (1.0, 3.0):
        arriving = np.full((2, 3), size)
        model(stage.Tensor(x, requires_grad=True)).backward(arriving)
        rows = list(flow.rows)
        expect_close(len(rows), len(factors), "the number of rows")
        expect_close([row.norm for row in rows], norms_of(factors, arriving), "the norms", rtol=1e-4)


@milestone("3.9", examples=15)
@given(factors=scales(), size=cases([1e-9, 1e9]), x=arrays((2, 3), "float64"))
def test_a_scaled_loss_spoils_nothing(stage, factors, size, x):
    """States go by the ratio to the norm nearest to the loss: a loss that is scaled changes none of them."""
    model = chain_of(stage.Module, stage.Sequential, factors)
    flow = stage.gradient_flow(model)
    arriving = np.full((2, 3), size)
    model(stage.Tensor(x, requires_grad=True)).backward(arriving)
    norms = norms_of(factors, arriving)
    for number, (row, norm) in enumerate(zip(flow.rows, norms)):
        expect_close(row.norm, norm, f"norm at layer {number}", rtol=1e-4)
        expect_close(row.ratio, norm / norms[-1], f"ratio at layer {number}", rtol=1e-4)
        expect(row.state == "ok", "is wrong", row.state, "ok", f"state of layer {number}")


@milestone("3.9", examples=20)
@given(factor=cases([0.1, 0.5, 3.0, 20.0]), x=arrays((2, 3), "float64"))
def test_limits_may_be_chosen(stage, factor, x):
    """`vanished` and `exploded` are the ratios at which a gradient is called so."""
    model = chain_of(stage.Module, stage.Sequential, [2.0, factor, 1.0])
    flow = stage.gradient_flow(model, vanished=0.3, exploded=5.0)
    model(stage.Tensor(x, requires_grad=True)).backward(np.ones((2, 3)))
    wanted = "vanished" if factor < 0.3 else "exploded" if factor > 5.0 else "ok"
    got = [row.state for row in flow.rows]
    expect(got == [wanted, "ok", "ok"], "are wrong", got, [wanted, "ok", "ok"], "the states")


@milestone("3.9", examples=15)
@given(spoilt=cases([0.0, math.nan, math.inf]), factors=scales(), x=arrays((2, 3), "float64"))
def test_a_loss_may_be_to_blame(stage, spoilt, factors, x):
    """Where what comes from the loss is 0, NaN or infinite already, `first_bad` is the last layer."""
    model = chain_of(stage.Module, stage.Sequential, factors)
    flow = stage.gradient_flow(model)
    model(stage.Tensor(x, requires_grad=True)).backward(np.full((2, 3), spoilt))
    bad, last = flow.first_bad, str(len(factors) - 1)
    expect(bad is not None, "is None", label="first_bad")
    expect(bad.name == last, "is wrong", bad.name, last, "name of first_bad")
    wanted = {"0.0": "vanished", "nan": "nan", "inf": "exploded"}[str(spoilt)]
    expect(bad.state == wanted, "is wrong", bad.state, wanted, "state of first_bad")


@milestone("3.9", examples=6)
@given(size=cases([1e25, 1e-25]))
def test_norms_do_not_overflow(stage, size):
    """A norm is right where the squares are too large or too small for float32."""
    model = chain_of(stage.Module, stage.Sequential, [2.0, 1.0])
    flow = stage.gradient_flow(model)
    model(stage.Tensor(np.ones((2, 3), "float32"), requires_grad=True)).backward(np.full((2, 3), size, "float32"))
    norm = flow.rows[1].norm
    expect_close(norm / size, math.sqrt(6), "norm at layer 1, over the size of the gradient", rtol=1e-4)


@beside
def called_twice(Module, Sequential, factor):
    class Scale(Module):
        def __init__(self, factor):
            super().__init__()
            self.factor = factor

        def forward(self, x):
            return x * self.factor

    shared = Scale(factor)
    return Sequential(Sequential(Scale(2.0), shared), shared, Scale(1.0))


@milestone("3.9", examples=10)
@given(factor=cases([1.5, 3.0]), x=arrays((2, 3), "float64"))
def test_a_row_for_each_call(stage, factor, x):
    """Layers inside of others are watched; one that is called twice has two rows."""
    model = called_twice(stage.Module, stage.Sequential, factor)
    flow = stage.gradient_flow(model)
    model(stage.Tensor(x, requires_grad=True)).backward(np.ones((2, 3)))
    rows = list(flow.rows)
    names = [row.name for row in rows]
    expect(names == ["0.0", "0.1", "0.1", "2"], "are wrong", names, ["0.0", "0.1", "0.1", "2"], "the names of the rows")
    wanted = [math.sqrt(6) * size for size in (factor * factor, factor, 1.0, 1.0)]
    expect_close([row.norm for row in rows], wanted, "the norms", rtol=1e-4)
