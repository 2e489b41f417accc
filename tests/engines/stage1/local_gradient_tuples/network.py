"""Neurons on `weighted_sum`; inputs that are plain numbers are slopes, not nodes."""

from itertools import pairwise

from .autodiff import Value, number


def weighted_sum(weights, inputs, bias):
    """Return bias + w . x as one node: bias first, then each weight, each input that is a Value."""
    if len(weights) != len(inputs):
        raise ValueError(f"{len(inputs)} inputs for {len(weights)} weights")
    total = bias.data
    pairs, slopes = [(bias, 1.0)], [1.0]
    for w, x in zip(weights, inputs):
        total += w.data * number(x)
        pairs.append((w, number(x)))
        slopes.append(x)
        if isinstance(x, Value):
            pairs.append((x, w.data))
            slopes.append(w)
    return Value(total, tuple(pairs), lambda: slopes)


class Neuron:
    def __init__(self, inputs, generator, linear=False):
        self.bias = Value(0.0)
        self.weights = [Value(2 * generator.random() - 1) for _ in range(inputs)]
        self.linear = linear

    def __call__(self, xs):
        out = weighted_sum(self.weights, xs, self.bias)
        if not self.linear:
            out = out.tanh()
        return out

    def parameters(self):
        return [*self.weights, self.bias]


class Layer:
    def __init__(self, inputs, outputs, generator, linear=False):
        self.neurons = []
        for _ in range(outputs):
            self.neurons.append(Neuron(inputs, generator, linear))

    def __call__(self, xs):
        xs = list(xs)
        return [neuron(xs) for neuron in self.neurons]

    def parameters(self):
        return [p for neuron in self.neurons for p in (*neuron.weights, neuron.bias)]


class MLP:
    def __init__(self, sizes, generator):
        *hidden, last = pairwise(sizes)
        self.layers = [Layer(*shape, generator) for shape in hidden]
        self.layers.append(Layer(*last, generator, linear=True))

    def __call__(self, xs):
        answers = xs
        for layer in self.layers:
            answers = layer(answers)
        return answers

    def parameters(self):
        return [p for layer in self.layers for p in layer.parameters()]


def mean_squared_error(predictions, targets):
    total = 0.0
    for prediction, target in zip(predictions, targets):
        error = prediction - target
        total = total + error * error
    return total / len(targets)


def descend(parameters, loss, rate, steps):
    def step():
        for p in parameters:
            p.grad = 0.0
        value = loss()
        value.backward()
        for p in parameters:
            p.data = p.data - rate * p.grad
        return value.data

    return [step() for _ in range(steps)]
