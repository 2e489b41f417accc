"""The laws of the electives: convolution (3.10) and recurrence (3.11)."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grader.checking import (
    ERRORS,
    Seed,
    arrays,
    cases,
    dtypes,
    expect,
    expect_array,
    expect_close,
    expect_module,
    expect_operation,
    expect_raises,
    milestone,
    spread,
    weights,
)

# 3.10 Convolution


def pair(number):
    return (number, number) if isinstance(number, int) else number


def convolved(x, w, b=None, stride=1, padding=0):
    """The definition: every output is the sum of a window times a kernel."""
    (down, right), (rows, cols) = pair(stride), pair(padding)
    x = np.pad(x, [(0, 0), (0, 0), (rows, rows), (cols, cols)])
    high, wide = (x.shape[2] - w.shape[2]) // down + 1, (x.shape[3] - w.shape[3]) // right + 1
    out = np.zeros((len(x), len(w), high, wide))
    for i, j in np.ndindex(high, wide):
        window = x[:, :, i * down : i * down + w.shape[2], j * right : j * right + w.shape[3]]
        out[:, :, i, j] = np.tensordot(window, w, axes=((1, 2, 3), (1, 2, 3)))
    return out if b is None else out + b[:, None, None]


@st.composite
def images(draw, channels=2, dtype=None):
    """A batch of small images that are not square."""
    n, high, wide = draw(st.sampled_from([(1, 4, 3), (2, 3, 4), (1, 3, 5)]))
    return draw(arrays((n, channels, high, wide), dtype or draw(dtypes())))


SETTINGS = [(1, 0), (2, 0), (1, 1), (2, 1), ((1, 2), (1, 0))]


@milestone("3.10", examples=30)
@given(x=images(), kernel=cases([(2, 3), (3, 2), (1, 1)]), setting=cases(SETTINGS), seed=weights(), bias=st.booleans(), weights=weights())
def test_conv2d(stage, x, kernel, setting, seed, bias, weights):
    """conv2d slides kernels over images (N, C, H, W), with any stride and padding, and a bias per output channel."""
    stride, padding = setting
    w = np.resize(np.array(seed, x.dtype), (3, 2, *kernel))
    parts = [x, w] + [np.array([0.5, -1.5, 2.5], x.dtype)] * bias
    expect_operation(
        stage, lambda *xs: stage.conv2d(*xs, stride=stride, padding=padding),
        lambda *xs: convolved(*xs, stride=stride, padding=padding), parts, weights,
    )  # fmt: skip


@milestone("3.10", examples=15)
@given(x=images(dtype="float32"), setting=cases(SETTINGS), seed=st.integers(0, 99), weights=weights())
def test_conv2d_layer(stage, x, setting, seed, weights):
    """The layer Conv2d has a weight (out, in, *kernel) and a bias (out,), and computes conv2d."""
    stride, padding = setting
    layer = stage.Conv2d(2, 3, (2, 3), stride=stride, padding=padding, generator=Seed(seed))
    expect_close(layer.weight.data.shape, (3, 2, 2, 3), "shape of weight")
    expect_module(
        stage, layer, ["weight", "bias"], lambda x, w, b: convolved(x, w, b, stride, padding), [x], weights
    )


@milestone("3.10", examples=4)
@given(seed=st.integers(0, 99))
def test_conv2d_starts_small(stage, seed):
    """Conv2d starts uniform within 1 / sqrt(fan in) of 0."""
    weight = stage.Conv2d(8, 20, (3, 2), generator=Seed(seed)).weight.data
    bound = 1 / math.sqrt(48)
    largest, spread_ = float(np.abs(weight).max()), float(weight.std())
    expect(largest <= bound * 1.00001, "lies outside the bounds", largest, bound, "weight")
    expect(abs(spread_ / (bound / math.sqrt(3)) - 1) < 0.15, "is off", spread_, bound / math.sqrt(3), "standard deviation of weight")


@milestone("3.10", examples=5)
@given(shape=cases([(1, 3, 4, 4), (1, 2, 1, 4), (2, 4, 4)]))
def test_images_that_do_not_fit(stage, shape):
    """Images with other channels, smaller than the kernel, or of another rank are a ValueError."""
    layer = stage.Conv2d(2, 3, (2, 3), generator=Seed(0))
    expect_raises(ERRORS, lambda: layer(stage.Tensor(np.ones(shape, "float32"))), "ValueError")


def pooled(x, size, stride, function):
    (p, q), (down, right) = pair(size), pair(stride)
    high, wide = (x.shape[2] - p) // down + 1, (x.shape[3] - q) // right + 1
    out = np.zeros((*x.shape[:2], high, wide))
    for i, j in np.ndindex(high, wide):
        out[:, :, i, j] = function(x[:, :, i * down : i * down + p, j * right : j * right + q], axis=(2, 3))
    return out


@st.composite
def large_images(draw):
    n, high, wide = draw(st.sampled_from([(1, 4, 5), (1, 5, 4)]))
    return draw(arrays((n, 1, high, wide), draw(dtypes()), distinct=True))


@milestone("3.10", examples=25)
@given(x=large_images(), size=cases([2, (2, 3), (1, 2)]), stride=cases([None, 1, (2, 1)]), weights=weights())
def test_max_pool(stage, x, size, stride, weights):
    """MaxPool2d takes the largest of each window, which moves by its own size unless told; windows may overlap."""
    module = stage.MaxPool2d(size) if stride is None else stage.MaxPool2d(size, stride=stride)
    moved = size if stride is None else stride
    expect_operation(stage, lambda x: module(x), lambda x: pooled(x, size, moved, np.max), [x], weights)


@milestone("3.10", examples=10)
@given(
    items=st.lists(st.sampled_from([1.0, 2.0, -1.0]), min_size=12, max_size=12), stride=cases([None, 1]),
    dtype=dtypes(), weights=weights(),
)  # fmt: skip
def test_max_pool_of_equal_elements(stage, items, stride, dtype, weights):
    """Of equally large elements in a window, the first gets the whole gradient."""
    x = np.array(items, dtype).reshape(1, 1, 3, 4)
    module = stage.MaxPool2d(2) if stride is None else stage.MaxPool2d(2, stride=stride)
    tensor = stage.Tensor(x, requires_grad=True)
    result = module(tensor)
    value = pooled(x, 2, stride or 2, np.max)
    expect_array(result.data, value, dtype, "data")
    upstream = spread(weights, value.shape, dtype)
    result.backward(upstream)
    gradient = np.zeros(x.shape)
    for i, j in np.ndindex(value.shape[2:]):
        row, column = i * (stride or 2), j * (stride or 2)
        first = int(np.argmax(x[0, 0, row : row + 2, column : column + 2]))
        gradient[0, 0, row + first // 2, column + first % 2] += upstream[0, 0, i, j]
    expect_array(tensor.grad, gradient, dtype, "gradient")


@milestone("3.10", examples=25)
@given(x=large_images(), size=cases([2, (2, 3), (1, 2)]), stride=cases([None, 1, (2, 1)]), weights=weights())
def test_average_pool(stage, x, size, stride, weights):
    """AvgPool2d takes the mean of each window."""
    module = stage.AvgPool2d(size) if stride is None else stage.AvgPool2d(size, stride=stride)
    moved = size if stride is None else stride
    expect_operation(stage, lambda x: module(x), lambda x: pooled(x, size, moved, np.mean), [x], weights)


@milestone("3.10", examples=15)
@given(x=arrays((2, 2, 2, 3), distinct=True), weights=weights())
def test_batch_norm_of_images(stage, x, weights):
    """BatchNorm2d normalises every channel over batch, height and width."""
    module = stage.BatchNorm2d(2)

    def formula(x, w, b):
        mean, var = x.mean(axis=(0, 2, 3), keepdims=True), x.var(axis=(0, 2, 3), keepdims=True)
        return (x - mean) / np.sqrt(var + 1e-5) * w[:, None, None] + b[:, None, None]

    expect_module(stage, module, ["weight", "bias"], formula, [x], weights)


# 3.11 Recurrence


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def rnn(x, w_ih, w_hh, b_ih, b_hh, h=None):
    h, outputs = np.zeros((len(x), w_hh.shape[1])) if h is None else h, []
    for t in range(x.shape[1]):
        h = np.tanh(x[:, t] @ w_ih.T + b_ih + h @ w_hh.T + b_hh)
        outputs.append(h)
    return np.stack(outputs, axis=1)


def gru(x, w_ih, w_hh, b_ih, b_hh, h=None):
    h, outputs = np.zeros((len(x), w_hh.shape[1])) if h is None else h, []
    for t in range(x.shape[1]):
        (ir, iz, i_n), (hr, hz, hn) = (np.split(y, 3, axis=1) for y in (x[:, t] @ w_ih.T + b_ih, h @ w_hh.T + b_hh))
        r, z = sigmoid(ir + hr), sigmoid(iz + hz)
        h = (1 - z) * np.tanh(i_n + r * hn) + z * h
        outputs.append(h)
    return np.stack(outputs, axis=1)


def lstm(x, w_ih, w_hh, b_ih, b_hh):
    h = c = np.zeros((len(x), w_hh.shape[1]))
    outputs = []
    for t in range(x.shape[1]):
        i, f, g, o = np.split(x[:, t] @ w_ih.T + b_ih + h @ w_hh.T + b_hh, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        outputs.append(h)
    return np.stack(outputs, axis=1)


FORMULAS = {"RNN": (rnn, 1), "LSTM": (lstm, 4), "GRU": (gru, 3)}
PARAMETERS = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]


class Outputs:
    """A recurrent layer's outputs without its last state, called as one module."""

    def __init__(self, layer):
        self.layer = layer

    def __getattr__(self, name):
        return getattr(self.layer, name)

    def __call__(self, x):
        return self.layer(x)[0]


@milestone("3.11", examples=30)
@given(name=cases(list(FORMULAS)), x=arrays(st.sampled_from([(2, 3, 2), (1, 2, 2), (2, 1, 2)])), seed=st.integers(0, 99), weights=weights())
def test_recurrent_layers(stage, name, x, seed, weights):
    """RNN, LSTM and GRU read (B, T, D) step by step; weights and gates are in PyTorch's order."""
    formula, gates = FORMULAS[name]
    layer = getattr(stage, name)(2, 3, generator=Seed(seed))
    expect_close(layer.weight_ih.data.shape, (gates * 3, 2), "shape of weight_ih")
    expect_close(layer.weight_hh.data.shape, (gates * 3, 3), "shape of weight_hh")
    expect_module(stage, Outputs(layer), PARAMETERS, formula, [x], weights)


@milestone("3.11", examples=20)
@given(name=cases(list(FORMULAS)), x=arrays((2, 3, 2)), seed=st.integers(0, 99))
def test_the_last_state(stage, name, x, seed):
    """A recurrent layer also returns its last state: h, and for an LSTM the pair (h, c)."""
    layer = getattr(stage, name)(2, 3, generator=Seed(seed))
    outputs, state = layer(stage.Tensor(x))
    last = state[0] if name == "LSTM" else state
    expect_array(last.data, outputs.data[:, -1], "float32", "the last state h")


@milestone("3.11", examples=20)
@given(name=cases(list(FORMULAS)), x=arrays((2, 4, 2)), cut=st.integers(1, 3), seed=st.integers(0, 99))
def test_going_on_from_a_state(stage, name, x, cut, seed):
    """Read in two parts, the second from the state after the first, a sequence gives the same outputs."""
    layer = getattr(stage, name)(2, 3, generator=Seed(seed))
    whole, _ = layer(stage.Tensor(x))
    _, state = layer(stage.Tensor(x[:, :cut].copy()))
    rest, _ = layer(stage.Tensor(x[:, cut:].copy()), state)
    expect_array(rest.data, whole.data[:, cut:], "float32", "data of the second part")


@milestone("3.11", examples=4)
@given(name=cases(list(FORMULAS)), seed=st.integers(0, 99))
def test_recurrent_layers_start_small(stage, name, seed):
    """All parameters start uniform within 1 / sqrt(hidden_size) of 0."""
    layer = getattr(stage, name)(10, 64, generator=Seed(seed))  # 64 draws of a bias: one is large
    for part in PARAMETERS:
        largest = float(np.abs(getattr(layer, part).data).max())
        expect(largest <= 0.125 * 1.00001, "lies outside the bounds", largest, 0.125, part)
        expect(largest > 0.075, "is nearly zero", largest, 0.125, part)
