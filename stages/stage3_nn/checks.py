"""The laws of modules, linear layers and activations: milestones 3.1 to 3.3."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grader.checking import (
    ERRORS,
    Seed,
    arrays,
    beside,
    cases,
    dtypes,
    expect,
    expect_array,
    expect_close,
    expect_is,
    expect_kind,
    expect_module,
    expect_operation,
    expect_raises,
    milestone,
    numbers,
    shapes,
    spread,
    weights,
)

# 3.1 Parameters and modules


@beside
def small_model(Module, Parameter, ModuleList, ModuleDict, Tensor):
    class Inner(Module):
        def __init__(self, size):
            super().__init__()
            self.scale = Parameter([1.5] * size)
            self.register_buffer("count", Tensor([3.0]))

        def forward(self, x):
            return x * self.scale

    class Model(Module):
        def __init__(self):
            super().__init__()
            self.head = Inner(2)
            self.bias = Parameter([0.5, -0.5])
            self.blocks = ModuleList([Inner(1), Inner(2)])
            self.named = ModuleDict({"left": Inner(1), "right": Inner(3)})
            self.plain = [Inner(4)]
            self.constant = Tensor([9.0])
            self.note = "text"

        def forward(self, x):
            return self.head(x) + self.bias

    return Model()


NAMES = ["bias", "head.scale", "blocks.0.scale", "blocks.1.scale", "named.left.scale", "named.right.scale"]
BUFFERS = ["head.count", "blocks.0.count", "blocks.1.count", "named.left.count", "named.right.count"]
MODULES = ["", "head", "blocks", "blocks.0", "blocks.1", "named", "named.left", "named.right"]


def model_of(stage):
    return small_model(stage.Module, stage.Parameter, stage.ModuleList, stage.ModuleDict, stage.Tensor)


def expect_names(got, wanted, label):
    expect(got == wanted, "are wrong, or in another order", got, wanted, label)


@milestone("3.1", examples=20)
@given(array=arrays(shapes(0, 2), dtypes()))
def test_a_parameter_is_a_trained_tensor(stage, array):
    """A Parameter is a Tensor that requires a gradient; it holds a copy, in the array's dtype."""
    parameter = stage.Parameter(array)
    expect_array(parameter.data, array, array.dtype, "data")
    expect_is(parameter.requires_grad, True, "is not True", "requires_grad")
    expect_is(parameter.grad, None, "is not None", "grad")
    expect_kind(parameter, stage.Tensor, "Tensor", "a Parameter")


@milestone("3.1", examples=1)
def test_parameters_are_found_by_name(stage):
    """`named_parameters` lists a module's own parameters, then its children's, depth first, with dotted names."""
    model = model_of(stage)
    expect_names([name for name, _ in model.named_parameters()], NAMES, "the names")
    found = dict(model.named_parameters())
    expect_is(found["bias"], model.bias, "is another object", "the parameter bias")
    expect_is(found["blocks.1.scale"], model.blocks[1].scale, "is another object", "the parameter blocks.1.scale")


@milestone("3.1", examples=1)
def test_parameters_without_names(stage):
    """`parameters` yields the same objects as `named_parameters`, every time it is asked."""
    model = model_of(stage)
    for _ in range(2):
        named = [parameter for _, parameter in model.named_parameters()]
        plain = list(model.parameters())
        expect_close(len(plain), len(NAMES), "the number of parameters")
        for one, other in zip(plain, named):
            expect_is(one, other, "are not in the order of named_parameters", "the parameters")


@milestone("3.1", examples=1)
def test_modules_are_found_by_name(stage):
    """`named_modules` lists the module itself as "", then all in it, depth first; `children` only the next ones."""
    model = model_of(stage)
    found = list(model.named_modules())
    expect_names([name for name, _ in found], MODULES, "the names")
    expect_is(found[0][1], model, "is not the model itself", "the first module")
    children = list(model.children())
    expect_close(len(children), 3, "the number of children")
    expect_is(children[0], model.head, "is another object", "the first child")
    expect_close(len(list(model.modules())), len(MODULES), "the number of modules")


@milestone("3.1", examples=1)
def test_buffers_are_found_by_name(stage):
    """Buffers are listed by `named_buffers`, and are no parameters."""
    model = model_of(stage)
    expect_names([name for name, _ in model.named_buffers()], BUFFERS, "the names")
    expect_array(model.head.count.data, [3.0], "float32", "the buffer's data")
    expect_is(model.head.count.requires_grad, False, "of a buffer is not False", "requires_grad")


@beside
def shared_model(Module, Parameter, ModuleList):
    class Inner(Module):
        def __init__(self, scale):
            super().__init__()
            self.scale = scale

    class Model(Module):
        def __init__(self):
            super().__init__()
            table = Parameter([1.0, 2.0])
            inner = Inner(Parameter([3.0]))
            self.table = table
            self.head = Inner(table)
            self.layers = ModuleList([inner, inner])

    return Model()


@milestone("3.1", examples=1)
def test_a_shared_parameter_is_listed_once(stage):
    """A parameter or module that is used in two places is listed once, under its first name."""
    model = shared_model(stage.Module, stage.Parameter, stage.ModuleList)
    expect_names([name for name, _ in model.named_parameters()], ["table", "layers.0.scale"], "the names")
    expect_names([name for name, _ in model.named_modules()], ["", "head", "layers", "layers.0"], "the names")
    expect_close(len(list(model.layers.children())), 1, "the number of children")


@milestone("3.1", examples=1)
def test_a_shared_part_is_saved_under_every_name(stage):
    """In a state, what is shared comes under every name, so that a model without the sharing can load it."""
    model = shared_model(stage.Module, stage.Parameter, stage.ModuleList)
    expect_names(list(model.state_dict()), ["table", "head.scale", "layers.0.scale", "layers.1.scale"], "the names")


@milestone("3.1", examples=10)
@given(array=arrays((2,)))
def test_what_is_assigned_again_takes_the_place(stage, array):
    """A Parameter that is assigned to a name again takes the old one's place; a deleted one is gone."""
    model = model_of(stage)
    new = stage.Parameter(array)
    model.bias = new
    found = dict(model.named_parameters())
    expect_names(sorted(found), sorted(NAMES), "the names")
    expect_is(found["bias"], new, "is still the old one", "the parameter bias")
    expect_is(model.bias, new, "is still the old one", "the attribute bias")


@milestone("3.1", examples=1)
def test_another_value_takes_a_part_away(stage):
    """A name that gets another value, such as None, is no parameter any more; a plain Tensor there is a TypeError."""
    model = model_of(stage)
    expect_raises(ERRORS, lambda: setattr(model, "bias", stage.Tensor([1.0, 2.0])), "TypeError")
    model.bias = None
    expect_names([name for name, _ in model.named_parameters()], NAMES[1:], "the names")
    expect_is(model.bias, None, "is not None", "bias")


@milestone("3.1", examples=10)
@given(array=arrays((1,)))
def test_a_buffer_may_be_assigned_again(stage, array):
    """A Tensor that is assigned to a buffer's name is the buffer from then on."""
    model = model_of(stage)
    model.head.count = stage.Tensor(array)
    expect_names([name for name, _ in model.named_buffers()], BUFFERS, "the names")
    expect_array(model.state_dict()["head.count"], array, "float32", "the saved buffer")


@beside
def with_a_dot(model):
    model.named["left.right"] = model.head


@milestone("3.1", examples=1)
def test_names_have_no_dots(stage):
    """A part's name with a dot is an error: its dotted name would mean two places."""
    model = model_of(stage)
    expect_raises((*ERRORS, "KeyError"), lambda: with_a_dot(model), "ValueError")


@beside
def without_bias(model):
    del model.bias
    return [name for name, _ in model.named_parameters()]


@milestone("3.1", examples=1)
def test_what_is_deleted_is_gone(stage):
    """A deleted attribute is no parameter any more."""
    expect_names(without_bias(model_of(stage)), NAMES[1:], "the names")


@milestone("3.1", examples=1)
def test_lists_and_dicts_of_modules(stage):
    """A ModuleList has a length, an order and indices, a ModuleDict keys; both hand out the modules themselves."""
    model = model_of(stage)
    expect_close(len(model.blocks), 2, "the length")
    expect_is(model.blocks[-1], model.blocks[1], "is not the last", "blocks[-1]")
    expect_is(next(iter(model.blocks)), model.blocks[0], "is another object", "the first of the list")
    expect_names(list(model.named.keys()), ["left", "right"], "the keys")
    expect_close(len(model.named), 2, "the length")
    expect_is(list(model.named.values())[1], model.named["right"], "is another object", "the second value")


@milestone("3.1", examples=1)
def test_a_list_grows(stage):
    """What is appended to a ModuleList, or put into a ModuleDict, belongs to the model."""
    model = model_of(stage)
    expect_is(model.blocks.append(model_of(stage).head), model.blocks, "is not the list", "append(...)")
    model.named["extra"] = model_of(stage).head
    names = [name for name, _ in model.named_parameters()]
    wanted = [*NAMES[:4], "blocks.2.scale", *NAMES[4:], "named.extra.scale"]
    expect_names(names, wanted, "the names")


@beside
def holding_a_number(model, kind):
    if kind == "ModuleList":
        model.blocks.append(3.0)
    else:
        model.named["number"] = 3.0


@milestone("3.1", examples=2)
@given(kind=cases(["ModuleList", "ModuleDict"]))
def test_lists_and_dicts_hold_modules_only(stage, kind):
    """What is no Module cannot be put into a ModuleList or a ModuleDict: TypeError."""
    model = model_of(stage)
    expect_raises((*ERRORS, "AttributeError"), lambda: holding_a_number(model, kind), "TypeError")


@milestone("3.1", examples=10)
@given(array=arrays((2, 2)))
def test_calling_a_module(stage, array):
    """Calling a module returns what its `forward` returns."""
    model = model_of(stage)
    result = model(stage.Tensor(array))
    expect_array(result.data, array * 1.5 + np.array([0.5, -0.5]), "float32", "data")


@beside
def combined(Module, x, y, factor):
    class Combine(Module):
        def forward(self, x, y, factor=1.0):
            return x + y * factor

    return Combine()(x, y, factor=factor)


@milestone("3.1", examples=10)
@given(x=arrays((2, 2)), y=arrays((2, 2)), factor=numbers())
def test_calling_with_several_arguments(stage, x, y, factor):
    """All arguments of a call reach `forward`, those with names, too."""
    result = combined(stage.Module, stage.Tensor(x), stage.Tensor(y), factor)
    expect_array(result.data, x + y * factor, "float32", "data")


@milestone("3.1", examples=1)
def test_train_and_eval(stage):
    """`train` and `eval` reach every module, however deep, and return the module itself."""
    model = model_of(stage)
    expect_is(model.training, True, "is not True at first", "training")
    expect_is(model.eval(), model, "is not the model", "eval()")
    expect_flags(model, False, "eval()")
    model.eval()
    expect_flags(model, False, "eval() a second time")
    expect_is(model.train(), model, "is not the model", "train()")
    expect_flags(model, True, "train()")
    model.train(False)
    expect_flags(model, False, "train(False)")


def expect_flags(model, wanted, after):
    flags = {name: module.training for name, module in model.named_modules()}
    expect(set(flags.values()) == {wanted}, f"is not {wanted} everywhere after {after}", flags, wanted, "training")


@milestone("3.1", examples=5)
@given(array=arrays((2, 2)))
def test_zero_grad(stage, array):
    """`zero_grad` forgets the gradients of all parameters."""
    model = model_of(stage)
    model(stage.Tensor(array)).sum().backward()
    expect_array(model.bias.grad, [2.0, 2.0], "float32", "gradient before")
    model.zero_grad()
    for name, parameter in model.named_parameters():
        expect_is(parameter.grad, None, "is not None", f"gradient of {name}")


STATE = ["bias", "head.scale", "head.count", "blocks.0.scale", "blocks.0.count", "blocks.1.scale", "blocks.1.count",
         "named.left.scale", "named.left.count", "named.right.scale", "named.right.count"]  # fmt: skip


@milestone("3.1", examples=1)
def test_state_dict(stage):
    """`state_dict` holds parameters and buffers by name, as arrays."""
    model = model_of(stage)
    state = model.state_dict()
    expect_names(list(state), STATE, "the names")
    expect_array(state["bias"], [0.5, -0.5], "float32", "the array bias")
    expect_array(state["named.right.scale"], [1.5] * 3, "float32", "the array named.right.scale")


@beside
def changed_state(model):
    state = model.state_dict()
    state["bias"][...] = 7.0
    return model.bias.data


@milestone("3.1", examples=1)
def test_a_state_is_a_copy(stage):
    """What happens to a state afterwards does not change the model."""
    expect_array(changed_state(model_of(stage)), [0.5, -0.5], "float32", "data of bias")


@milestone("3.1", examples=10)
@given(array=arrays((2,)), count=numbers())
def test_load_state_dict(stage, array, count):
    """`load_state_dict` fills the parameters and buffers there are: the objects stay the same."""
    model = model_of(stage)
    bias = model.bias
    state = {**model.state_dict(), "bias": array, "head.scale": array, "head.count": np.array([count], "float32")}
    model.load_state_dict(state)
    expect_is(model.bias, bias, "is another object now", "bias")
    expect_array(bias.data, array, "float32", "data of bias")
    expect_array(model.head.scale.data, array, "float32", "data of head.scale")
    expect_array(model.head.count.data, [count], "float32", "data of the buffer")
    expect_is(bias.requires_grad, True, "is not True any more", "requires_grad")


@beside
def loaded(model, array):
    state = {**model.state_dict(), "bias": array}
    model.load_state_dict(state)
    array[...] = 7.0
    return model.bias.data


@milestone("3.1", examples=10)
@given(array=arrays((2,), "float64"))
def test_loading_copies(stage, array):
    """Loading copies the numbers, in the parameter's dtype: what happens to the state afterwards changes nothing."""
    expect_array(loaded(model_of(stage), array), array, "float32", "data of bias")


@milestone("3.1", examples=20)
@given(slip=cases(["missing", "unexpected", "shape", "stretch"]), array=arrays((2,)))
def test_a_failed_load_changes_nothing(stage, slip, array):
    """A state with a missing or unexpected name, or a wrong shape, is an error that changes nothing."""
    model = model_of(stage)
    state = {**model.state_dict(), "bias": array}
    if slip == "missing":
        del state["named.right.scale"]
    elif slip == "unexpected":
        state["tail.scale"] = np.ones(1, "float32")
    else:
        state["named.right.scale"] = np.ones(2 if slip == "shape" else 1, "float32")
    expect_raises((*ERRORS, "KeyError"), lambda: model.load_state_dict(state), "ValueError")
    expect_array(model.bias.data, [0.5, -0.5], "float32", "data of bias")


@milestone("3.1", examples=10)
@given(array=arrays((2,)))
def test_a_loose_load(stage, array):
    """With `strict=False`, what fits is loaded and other names are passed over."""
    model = model_of(stage)
    model.load_state_dict({"bias": array, "tail.scale": np.ones(1, "float32")}, strict=False)
    expect_array(model.bias.data, array, "float32", "data of bias")
    expect_array(model.head.scale.data, [1.5, 1.5], "float32", "data of head.scale")


@milestone("3.1", examples=3)
@given(size=cases([1, 3]))
def test_a_loose_load_compares_shapes(stage, size):
    """With `strict=False`, too, an array of another shape is an error."""
    model = model_of(stage)
    state = {"bias": np.ones(size, "float32")}
    expect_raises(ERRORS, lambda: model.load_state_dict(state, strict=False), "ValueError")


# 3.2 Linear and its initialisation


@milestone("3.2", examples=40)
@given(
    x=arrays(st.sampled_from([(2, 3), (1, 3), (4, 3), (2, 2, 3), (3,)])), outputs=cases([2, 5, 1, 3]),
    bias=st.booleans(), seed=st.integers(0, 99), weights=weights(),
)  # fmt: skip
def test_linear(stage, x, outputs, bias, seed, weights):
    """Linear computes x @ weight.T + bias on the last axis; weight is (out, in), bias (out,)."""
    layer = stage.Linear(3, outputs, bias=bias, generator=Seed(seed))
    expect_close(layer.weight.data.shape, (outputs, 3), "shape of weight")
    if not bias:
        expect_is(layer.bias, None, "is not None", "bias")
        expect_module(stage, layer, ["weight"], lambda x, w: x @ w.T, [x], weights)
        return
    expect_close(layer.bias.data.shape, (outputs,), "shape of bias")
    expect_module(stage, layer, ["weight", "bias"], lambda x, w, b: x @ w.T + b, [x], weights)


@milestone("3.2", examples=10)
@given(seed=st.integers(0, 99))
def test_linear_lists_its_parameters(stage, seed):
    """A Linear's parameters are called weight and bias, and are float32."""
    layer = stage.Linear(3, 2, generator=Seed(seed))
    names = [name for name, _ in layer.named_parameters()]
    expect(names == ["weight", "bias"], "are wrong", names, ["weight", "bias"], "the names")
    for _, parameter in layer.named_parameters():
        expect(parameter.data.dtype == "float32", "is not float32", parameter.data.dtype.name, "float32", "dtype")


def expect_uniform(array, bound, label):
    """Draws fill [-bound, bound): none is outside, and mean and variance are those of the uniform distribution."""
    largest = float(np.abs(array).max())
    expect(largest <= bound * (1 + 1e-5), "lies outside the bounds", largest, f"at most {bound:.4g}", label)
    expect_moments(array, 0.0, bound / math.sqrt(3), label)
    expect(largest > 0.97 * bound, "stays far inside the bounds", largest, f"nearly {bound:.4g}", label)


def expect_moments(array, mean, std, label):
    """Mean and standard deviation, to eight standard errors of a sample of this size."""
    margin = 8 / math.sqrt(array.size)
    got_mean, got_std = float(array.mean()), float(array.std())
    expect(abs(got_mean - mean) <= margin * std, "is off", got_mean, mean, f"mean of {label}")
    expect(abs(got_std / std - 1) <= margin, "is off", got_std, std, f"standard deviation of {label}")


def expect_gaussian(array, std, label):
    expect_moments(array, 0.0, std, label)
    beyond = float((np.abs(array) > 2 * std).mean())  # 0.0455 of a normal distribution; 0 of a uniform one
    expect(0.02 < beyond < 0.08, "is not that of a normal distribution", beyond, 0.0455, f"share of {label} beyond 2 std")


@milestone("3.2", examples=6)
@given(seed=st.integers(0, 99), sizes=cases([(40, 60), (100, 30)]))
def test_linear_starts_small(stage, seed, sizes):
    """A Linear's weight and bias start uniform within 1 / sqrt(in_features) of 0."""
    inputs, outputs = sizes
    layer = stage.Linear(inputs, outputs, generator=Seed(seed))
    expect_uniform(layer.weight.data, 1 / math.sqrt(inputs), "weight")
    bias = layer.bias.data
    largest = float(np.abs(bias).max())
    expect(largest <= (1 + 1e-5) / math.sqrt(inputs), "lies outside the bounds", largest, 1 / math.sqrt(inputs), "bias")
    expect(largest > 0.5 / math.sqrt(inputs), "is nearly zero", largest, 1 / math.sqrt(inputs), "bias")


@milestone("3.2", examples=5)
@given(seed=st.integers(0, 99))
def test_linear_draws_from_its_generator(stage, seed):
    """Two Linears drawn from generators of one seed are equal; of two seeds, they differ."""
    first, again, other = (stage.Linear(3, 4, generator=Seed(s)).weight.data for s in (seed, seed, seed + 1))
    expect_close(first, again, "weight of the same seed")
    expect(not np.array_equal(first, other), "is the same for another seed", label="weight")


@milestone("3.2", examples=10)
@given(x=arrays(st.sampled_from([(2, 4), (4, 2), (2,)])))
def test_linear_needs_its_features(stage, x):
    """An input whose last axis is not in_features long is a ValueError."""
    layer = stage.Linear(3, 5, generator=Seed(0))
    expect_raises(ERRORS, lambda: layer(stage.Tensor(x)), "ValueError")


@milestone("3.2", examples=20)
@given(shape=cases([(3, 5), (5, 3), (4, 2, 3, 3), (2, 4, 1, 5)]))
def test_fan_in_and_out(stage, shape):
    """The fans of a weight (out, in, *kernel) are in and out, times the size of the kernel."""
    kernel = math.prod(shape[2:])
    expect_close(tuple(stage.fan_in_and_out(shape)), (shape[1] * kernel, shape[0] * kernel), "the fans")


INITIAL = cases([(60, 40), (30, 90), (20, 10, 3, 5)])


def fans(shape):
    kernel = math.prod(shape[2:])
    return shape[1] * kernel, shape[0] * kernel


@milestone("3.2", examples=8)
@given(shape=INITIAL, gain=cases([1.0, 2.0, 0.5]), seed=st.integers(0, 99))
def test_xavier_uniform(stage, shape, gain, seed):
    """xavier_uniform draws within gain * sqrt(6 / (fan_in + fan_out)) of 0, into the parameter itself."""
    parameter = stage.Parameter(np.zeros(shape, "float32"))
    stage.xavier_uniform(parameter, gain, generator=Seed(seed))
    expect_uniform(parameter.data, gain * math.sqrt(6 / sum(fans(shape))), "the parameter")


@milestone("3.2", examples=8)
@given(shape=INITIAL, gain=cases([1.0, 2.0, 0.5]), seed=st.integers(0, 99))
def test_xavier_normal(stage, shape, gain, seed):
    """xavier_normal draws with the standard deviation gain * sqrt(2 / (fan_in + fan_out))."""
    parameter = stage.Parameter(np.zeros(shape, "float32"))
    stage.xavier_normal(parameter, gain, generator=Seed(seed))
    expect_gaussian(parameter.data, gain * math.sqrt(2 / sum(fans(shape))), "the parameter")


@milestone("3.2", examples=8)
@given(shape=INITIAL, gain=cases([None, 1.0]), fan=cases(["in", "out"]), seed=st.integers(0, 99))
def test_kaiming_uniform(stage, shape, gain, fan, seed):
    """kaiming_uniform draws within gain * sqrt(3 / fan) of 0; the gain is sqrt(2) unless told."""
    parameter = stage.Parameter(np.zeros(shape, "float32"))
    options = {} if gain is None else {"gain": gain}
    stage.kaiming_uniform(parameter, fan=fan, generator=Seed(seed), **options)
    size = fans(shape)[0 if fan == "in" else 1]
    expect_uniform(parameter.data, (gain or math.sqrt(2)) * math.sqrt(3 / size), "the parameter")


@milestone("3.2", examples=8)
@given(shape=INITIAL, gain=cases([None, 1.0]), fan=cases(["in", "out"]), seed=st.integers(0, 99))
def test_kaiming_normal(stage, shape, gain, fan, seed):
    """kaiming_normal draws with the standard deviation gain / sqrt(fan)."""
    parameter = stage.Parameter(np.zeros(shape, "float32"))
    options = {} if gain is None else {"gain": gain}
    stage.kaiming_normal(parameter, fan=fan, generator=Seed(seed), **options)
    size = fans(shape)[0 if fan == "in" else 1]
    expect_gaussian(parameter.data, (gain or math.sqrt(2)) / math.sqrt(size), "the parameter")


@milestone("3.2", examples=5)
@given(seed=st.integers(0, 99), name=cases(["xavier_uniform", "kaiming_normal"]))
def test_an_initialiser_keeps_the_parameter(stage, seed, name):
    """An initialiser fills the parameter in place and returns it; its dtype stays float32."""
    parameter = stage.Parameter(np.zeros((3, 4), "float32"))
    expect_is(getattr(stage, name)(parameter, generator=Seed(seed)), parameter, "is not the parameter", "the result")
    expect(parameter.data.dtype == "float32", "is not float32", parameter.data.dtype.name, "float32", "dtype")
    expect_is(parameter.requires_grad, True, "is not True any more", "requires_grad")


@milestone("3.2", examples=8)
@given(seed=st.integers(0, 99), name=cases(["xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal"]))
def test_an_initialiser_draws_from_its_generator(stage, seed, name):
    """An initialiser fills two parameters alike from generators of one seed, and otherwise from those of two."""
    parameters = [stage.Parameter(np.zeros((3, 4), "float32")) for _ in range(3)]
    for parameter, number in zip(parameters, (seed, seed, seed + 1)):
        getattr(stage, name)(parameter, generator=Seed(number))
    first, again, other = (parameter.data for parameter in parameters)
    expect_close(first, again, "the parameter of the same seed")
    expect(not np.array_equal(first, other), "is the same for another seed", label="the parameter")


@milestone("3.2", examples=5)
@given(name=cases(["xavier_uniform", "kaiming_uniform", "xavier_normal"]))
def test_fans_need_two_axes(stage, name):
    """A parameter with fewer than two axes has no fans: ValueError."""
    parameter = stage.Parameter(np.zeros(3, "float32"))
    expect_raises(ERRORS, lambda: getattr(stage, name)(parameter, generator=Seed(0)), "ValueError")


# 3.3 Activations


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def erf(x):
    return np.vectorize(math.erf)(x)


FORMULAS = {
    "ReLU": lambda x: np.maximum(x, 0),
    "LeakyReLU": lambda x: np.where(x > 0, x, 0.01 * x),
    "Tanh": np.tanh,
    "Sigmoid": sigmoid,
    "SiLU": lambda x: x * sigmoid(x),
    "Softplus": lambda x: np.log1p(np.exp(x)),
    "GELU": lambda x: x * (1 + erf(x / math.sqrt(2))) / 2,
}
TANH_GELU = lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))  # noqa: E731


@milestone("3.3", examples=150)
@given(name=cases(list(FORMULAS)), x=arrays(shapes(1, 3), dtypes()), weights=weights())
def test_activations(stage, name, x, weights):
    """Each activation module computes its formula, element by element, and sends back its slope."""
    module = getattr(stage, name)()
    expect_operation(stage, lambda x: module(x), FORMULAS[name], [x], weights)


@milestone("3.3", examples=40)
@given(x=arrays(shapes(1, 2), dtypes()), weights=weights())
def test_gelu_by_tanh(stage, x, weights):
    """GELU("tanh") is the approximation by tanh, not the exact one."""
    module = stage.GELU("tanh")
    expect_operation(stage, lambda x: module(x), TANH_GELU, [x], weights)


@milestone("3.3", examples=40)
@given(x=arrays(shapes(1, 2), dtypes()), slope=cases([0.2, 0.5, 0.0]), weights=weights())
def test_leaky_relu_with_another_slope(stage, x, slope, weights):
    """LeakyReLU takes the slope for negative numbers."""
    module = stage.LeakyReLU(slope)
    expect_operation(stage, lambda x: module(x), lambda x: np.where(x > 0, x, slope * x), [x], weights)


FUNCTIONS = {"leaky_relu": "LeakyReLU", "gelu": "GELU", "silu": "SiLU", "softplus": "Softplus"}


@milestone("3.3", examples=60)
@given(name=cases(list(FUNCTIONS)), x=arrays(shapes(1, 2), "float64"), weights=weights())
def test_activations_as_functions(stage, name, x, weights):
    """leaky_relu, gelu, silu and softplus are functions, too."""
    expect_operation(stage, lambda x: getattr(stage, name)(x), FORMULAS[FUNCTIONS[name]], [x], weights)


@milestone("3.3", examples=40)
@given(name=cases(["SiLU", "Softplus", "GELU", "Sigmoid", "Tanh"]), size=cases([100.0, 1000.0]), dtype=dtypes())
def test_activations_far_out(stage, name, size, dtype):
    """At -1000 and 1000, activations and their slopes are the limits of their formulas, not NaN."""
    limits = {"SiLU": (0, size, 0, 1), "Softplus": (0, size, 0, 1), "GELU": (0, size, 0, 1), "Sigmoid": (0, 1, 0, 0), "Tanh": (-1, 1, 0, 0)}
    left, right, slope_left, slope_right = limits[name]
    tensor = stage.Tensor(np.array([-size, size], dtype), requires_grad=True)
    result = getattr(stage, name)()(tensor)
    expect_array(result.data, [left, right], dtype, "data")
    result.backward(np.array([2.0, 3.0], dtype))
    expect_array(tensor.grad, [2.0 * slope_left, 3.0 * slope_right], dtype, "gradient")


@milestone("3.3", examples=5)
@given(word=cases(["sigmoid", "exact?"]))
def test_gelu_knows_two_forms(stage, word):
    """GELU with another word than "none" or "tanh" is a ValueError."""
    tensor = stage.Tensor([1.0])
    expect_raises(ERRORS, lambda: stage.gelu(tensor, approximate=word), "ValueError")


@milestone("3.3", examples=20)
@given(name=cases(["LeakyReLU", "ReLU"]), weights=weights())
def test_slope_at_zero(stage, name, weights):
    """At 0, relu has the slope 0 and leaky relu that of its negative side."""
    tensor = stage.Tensor(np.array([0.0, 1.0, -1.0]), requires_grad=True)
    upstream = spread(weights, (3,), "float64")
    getattr(stage, name)()(tensor).backward(upstream)
    low = 0.01 if name == "LeakyReLU" else 0.0
    expect_array(tensor.grad, upstream * np.array([low, 1.0, low]), "float64", "gradient")
