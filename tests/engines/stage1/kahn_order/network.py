"""Neurons are loops of * and +, the bias last; `weighted_sum` is there, but nothing leans on it."""

from itertools import chain, pairwise

from .autodiff import Value, value_of


def weighted_sum(weights, inputs, bias):
    """Return w . x + bias as one node."""
    if len(weights) != len(inputs):
        raise ValueError(f"cannot weigh {len(inputs)} inputs with {len(weights)} weights")
    inputs = [value_of(x) for x in inputs]
    total = sum(w.data * x.data for w, x in zip(weights, inputs)) + bias.data

    def pull(up, out):
        return [*(up * w for w in weights), *(up * x for x in inputs), up]

    return Value._record(total, [*inputs, *weights, bias], pull)


class Neuron:
    def __init__(self, inputs, generator, linear=False):
        self.bias = Value(0)
        self.weights = []
        while len(self.weights) < inputs:
            self.weights.insert(0, Value(generator.uniform(-1, 1)))
        self.linear = linear

    def __call__(self, xs):
        total = 0.0
        for weight, x in zip(self.weights, xs, strict=True):
            total = total + weight * x
        total = total + self.bias
        return total if self.linear else total.tanh()

    def parameters(self):
        return [*self.weights, self.bias]


class Layer:
    def __init__(self, inputs, outputs, generator, linear=False):
        self.neurons = [Neuron(inputs, generator, linear) for _ in range(outputs)]

    def __call__(self, xs):
        return [neuron(xs) for neuron in self.neurons]

    def parameters(self):
        return list(chain.from_iterable(neuron.parameters() for neuron in self.neurons))


class MLP:
    def __init__(self, sizes, generator):
        self.layers = []
        for depth, (inputs, outputs) in enumerate(pairwise(sizes), start=2):
            linear = depth == len(sizes)
            self.layers.append(Layer(inputs, outputs, generator, linear))

    def __call__(self, xs):
        for layer in self.layers:
            xs = layer(xs)
        return xs

    def parameters(self):
        return list(chain.from_iterable(layer.parameters() for layer in self.layers))


def mean_squared_error(predictions, targets):
    count = len(predictions)
    return sum((p - t) ** 2 / count for p, t in zip(predictions, targets))


def descend(parameters, loss, rate, steps):
    history = []
    for _ in range(steps):
        result = loss()
        for p in parameters:
            p.grad = 0.0
        result.backward()
        for p in parameters:
            p.data = p.data - rate * p.grad
        history.append(result.data)
    return history
