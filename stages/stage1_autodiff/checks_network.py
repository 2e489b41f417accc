"""The laws of network.py."""

import math
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grader.checking import beside, cases, expect, expect_close, expect_raises, milestone, numbers


def vectors(low, high):
    return st.integers(low, high).flatmap(lambda n: st.lists(numbers(), min_size=n, max_size=n))


@milestone("1.10")
@given(xs=vectors(1, 4), bias=numbers(), scale=numbers(), data=st.lists(numbers(), min_size=4, max_size=4))
def test_weighted_sum(stage, xs, bias, scale, data):
    """`weighted_sum` is bias + w1 x1 + w2 x2 + ..., one node, with a gradient for each."""
    ws = data[: len(xs)]
    weights, inputs = [stage.Value(w) for w in ws], [stage.Value(x) for x in xs]
    b = stage.Value(bias)
    total = stage.weighted_sum(weights, inputs, b)
    expect_close(total.data, bias + math.fsum(w * x for w, x in zip(ws, xs)), "data")
    (total * scale).backward()
    for weight, x in zip(weights, xs):
        expect_close(weight.grad, x * scale, "gradient of a weight")
    for value, w in zip(inputs, ws):
        expect_close(value.grad, w * scale, "gradient of an input")
    expect_close(b.grad, scale, "gradient of the bias")
    expect_close(len(total.parents), 2 * len(xs) + 1, "number of parents")


@milestone("1.10", examples=20)
@given(ws=vectors(1, 3), xs=vectors(1, 3))
def test_weighted_sum_of_unequal_counts(stage, ws, xs):
    """`weighted_sum` refuses more or fewer inputs than weights with a ValueError."""
    weights = [stage.Value(w) for w in ws]
    inputs = [stage.Value(x) for x in [*ws, *xs]]
    bias = stage.Value(0.0)
    expect_raises(["ValueError"], lambda: stage.weighted_sum(weights, inputs, bias), "ValueError")


@beside
def set_weights(mlp, weights):
    for layer, (rows, biases) in zip(mlp.layers, weights):
        for neuron, row, bias in zip(layer.neurons, rows, biases):
            for w, number in zip(neuron.weights, row):
                w.data = number
            neuron.bias.data = bias


@beside
def seeded(seed, kind, shape, **options):
    import random

    return kind(shape, random.Random(seed), **options)


@st.composite
def networks(draw):
    """Sizes, and per layer the weights (outputs, inputs) and biases, as lists."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=2, max_size=4))
    layers = [
        (
            [[draw(numbers(-1.5, 1.5)) for _ in range(inputs)] for _ in range(outputs)],
            [draw(numbers(-1.5, 1.5)) for _ in range(outputs)],
        )
        for inputs, outputs in pairwise(sizes)
    ]
    return sizes, layers


def forward(layers, xs):
    """The network in numpy; returns the activations of every layer, the input first."""
    activations = [np.array(xs, float)]
    for k, (rows, biases) in enumerate(layers):
        total = np.array(rows) @ activations[-1] + np.array(biases)
        activations.append(total if k == len(layers) - 1 else np.tanh(total))
    return activations


def backward(layers, activations, upstream):
    """The gradients of sum(upstream * output): per layer of the weights and of the biases."""
    found = []
    for k in reversed(range(len(layers))):
        delta = upstream if k == len(layers) - 1 else upstream * (1 - activations[k + 1] ** 2)
        found.insert(0, (np.outer(delta, activations[k]), delta))
        upstream = np.array(layers[k][0]).T @ delta
    return found


@milestone("1.10", examples=40)
@given(xs=vectors(1, 3), seed=st.integers(0, 99), linear=st.booleans())
def test_a_new_neuron(stage, xs, seed, linear):
    """A new Neuron has one weight per input, drawn from -1 to 1, and the bias 0; `linear` leaves out the tanh."""
    neuron = seeded(seed, stage.Neuron, len(xs), **({"linear": True} if linear else {}))
    weights = [w.data for w in neuron.weights]
    expect_close(len(weights), len(xs), "number of weights")
    expect(all(-1 <= w <= 1 for w in weights), "outside -1 to 1", weights, label="weights")
    expect(len(set(weights)) == len(weights), "are all the same", weights, label="weights")
    expect_close(neuron.bias.data, 0.0, "bias")
    total = math.fsum(w * x for w, x in zip(weights, xs))
    expect_close(neuron(xs).data, total if linear else math.tanh(total), "answer")


@milestone("1.10", examples=10)
@given(seed=st.integers(0, 99))
def test_weights_are_drawn_from_both_signs(stage, seed):
    """Of sixty new weights, some are below -0.5 and some above 0.5."""
    weights = [w.data for w in seeded(seed, stage.Neuron, 60).weights]
    expect(min(weights) < -0.5 and max(weights) > 0.5, "keep to one side", weights, label="weights")


@milestone("1.10", examples=40)
@given(network=networks(), data=st.lists(numbers(), min_size=3, max_size=3))
def test_the_network_computes(stage, network, data):
    """An MLP is tanh of weighted sums, layer after layer, without the tanh in the last."""
    sizes, layers = network
    mlp = seeded(0, stage.MLP, sizes)
    set_weights(mlp, layers)
    xs = data[: sizes[0]]
    answers = mlp(xs)
    expect(isinstance(answers, list | tuple), "is not a list", answers, label="the answer")
    expect_close(len(answers), sizes[-1], "number of answers")
    for answer, want in zip(answers, forward(layers, xs)[-1]):
        expect_close(answer.data, float(want), "answer")


@milestone("1.10", examples=40)
@given(network=networks(), data=st.lists(numbers(), min_size=6, max_size=6))
def test_the_network_learns_from_its_gradients(stage, network, data):
    """Every weight and every bias of an MLP gets its gradient."""
    sizes, layers = network
    mlp = seeded(0, stage.MLP, sizes)
    set_weights(mlp, layers)
    xs, upstream = data[: sizes[0]], np.array(data[-sizes[-1] :])
    output = sum(answer * weight for answer, weight in zip(mlp(xs), upstream.tolist()))
    output.backward()
    wanted = backward(layers, forward(layers, xs), upstream)
    for layer, (weights, biases) in zip(mlp.layers, wanted):
        for neuron, row, bias in zip(layer.neurons, weights, biases):
            for w, want in zip(neuron.weights, row):
                expect_close(w.grad, float(want), "gradient of a weight")
            expect_close(neuron.bias.grad, float(bias), "gradient of a bias")


@milestone("1.10", examples=20)
@given(sizes=st.lists(st.integers(1, 3), min_size=2, max_size=4), seed=st.integers(0, 99))
def test_parameters(stage, sizes, seed):
    """`parameters` lists every weight and every bias of a network, each once."""
    mlp = seeded(seed, stage.MLP, sizes)
    expect_close(len(mlp.layers), len(sizes) - 1, "number of layers")
    owned = [v for layer in mlp.layers for n in layer.neurons for v in [*n.weights, n.bias]]
    wanted = sum((i + 1) * o for i, o in pairwise(sizes))
    expect_close(len(owned), wanted, "number of weights and biases")
    listed = list(mlp.parameters())
    expect_close(len(listed), wanted, "number of parameters")
    expect(set(listed) == set(owned), "are not the weights and biases", label="parameters")


@milestone("1.10")
@given(pairs=st.lists(st.tuples(numbers(), numbers()), min_size=1, max_size=4))
def test_mean_squared_error(stage, pairs):
    """`mean_squared_error` is the mean of the squared differences, and has its gradient."""
    predictions = [stage.Value(p) for p, _ in pairs]
    loss = stage.mean_squared_error(predictions, [t for _, t in pairs])
    expect_close(loss.data, math.fsum((p - t) ** 2 for p, t in pairs) / len(pairs), "loss")
    (loss * 3.0).backward()
    for value, (p, t) in zip(predictions, pairs):
        expect_close(value.grad, 3 * 2 * (p - t) / len(pairs), "gradient")


@beside
def descended(descend, Value, starts, targets, rate, steps):
    parameters = [Value(x) for x in starts]
    for p in parameters:
        p.grad = 5.0

    def loss():
        total = Value(0.0)
        for p, t in zip(parameters, targets):
            total = total + (p - t) * (p - t)
        return total

    history = descend(parameters, loss, rate, steps)
    return list(history), [p.data for p in parameters]


@milestone("1.10", examples=40)
@given(
    pairs=st.lists(st.tuples(numbers(), numbers()), min_size=1, max_size=3),
    rate=cases([0.1, 0.05, 0.2]),
    steps=st.integers(1, 5),
)
def test_descend(stage, pairs, rate, steps):
    """`descend` clears the gradients, then moves every parameter by -rate times its gradient, every step."""
    xs, targets = [x for x, _ in pairs], [t for _, t in pairs]
    history, found = descended(stage.descend, stage.Value, xs, targets, rate, steps)
    losses = []
    for _ in range(steps):
        losses.append(math.fsum((x - t) ** 2 for x, t in zip(xs, targets)))
        xs = [x - rate * 2 * (x - t) for x, t in zip(xs, targets)]
    expect_close(found, xs, "parameters")
    expect_close(history, losses, "losses")


def moons(generator, count):
    """Two half circles, one in the other's arm: points (x, y) and labels -1 and 1."""
    points, labels = [], []
    for i in range(count):
        angle, label = generator.random() * math.pi, (-1) ** i
        x, y = math.cos(angle), math.sin(angle)
        if label < 0:
            x, y = 1 - x, 0.2 - y
        points.append([x + generator.normal(0, 0.08), y + generator.normal(0, 0.08)])
        labels.append(label)
    return points, labels


# Data and initial weights under which the loss falls in every step and a right engine ends at
# 98.5 % or more: with 95 % asked for, no order of additions decides.
CALM = [0, 1, 2, 4, 7, 9, 10, 11, 18, 22, 24, 25, 26, 27, 29, 30, 31, 32, 34, 38]


@beside
def trained(mlp, mean_squared_error, descend, points, labels, rate, steps):
    def loss():
        return mean_squared_error([mlp(p)[0] for p in points], labels)

    descend(mlp.parameters(), loss, rate, steps)


@beside
def answers_to(mlp, points):
    return [mlp(p)[0].data for p in points]


@milestone("1.10", examples=1, seconds=60, trains=True)
@given(seed=cases(CALM))
def test_two_moons(stage, seed):
    """A network of 8 hidden neurons learns to tell two moons apart: 95 % of new points and more."""
    generator = np.random.default_rng(seed)
    points, labels = moons(generator, 40)
    hidden = generator.uniform(-1.5, 1.5, (8, 3))
    weights = [
        (hidden[:, :2].tolist(), hidden[:, 2].tolist()),
        (generator.uniform(-0.5, 0.5, (1, 8)).tolist(), [0.0]),
    ]
    mlp = seeded(0, stage.MLP, [2, 8, 1])
    set_weights(mlp, weights)
    trained(mlp, stage.mean_squared_error, stage.descend, points, labels, 0.2, 200)
    unseen, truth = moons(generator, 200)
    answers = answers_to(mlp, unseen)
    right = sum(isinstance(a, float) and a * t > 0 for a, t in zip(answers, truth, strict=True))
    expect(right >= 190, "below 95 %", f"{right / 2} %", "95 %", "accuracy on new points")
