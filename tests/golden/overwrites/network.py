"""A small network of `Value`s, and the descent that trains it."""

from itertools import pairwise
from operator import mul

from .autodiff import Value, number


def weighted_sum(weights, inputs, bias):
    """Return bias + w1 x1 + w2 x2 + ... as a single Value.

    `weights` and `bias` are Values, `inputs` Values or numbers, as many as weights.
    ValueError if their counts differ. One node for the whole sum: an operation
    may have any number of parents.
    """
    if len(weights) != len(inputs):
        raise ValueError(f"{len(weights)} weights need as many inputs, got {len(inputs)}")
    count = len(weights)
    inputs = [x if isinstance(x, Value) else Value(x) for x in inputs]
    total = bias.data + sum(map(mul, [w.data for w in weights], [x.data for x in inputs]))

    def gradient(upstream, out, *operands):
        weights, inputs = operands[:count], operands[count:-1]
        return [upstream * x for x in inputs] + [upstream * w for w in weights] + [upstream]

    return Value(total, (*weights, *inputs, bias), gradient)


class Neuron:
    """tanh(bias + weights . inputs), or without the tanh where `linear`.

    Attributes:
        weights: a list of Values, one per input.
        bias: a Value.
    """

    def __init__(self, inputs, generator, linear=False):
        """Draw `inputs` weights uniformly from -1 to 1 by `generator` (random.Random); bias 0."""
        self.weights = [Value(generator.uniform(-1, 1)) for _ in range(inputs)]
        self.bias = Value(0.0)
        self.linear = linear

    def __call__(self, xs):
        """Return the neuron's answer, a Value, to a list of Values or numbers."""
        total = weighted_sum(self.weights, xs, self.bias)
        return total if self.linear else total.tanh()

    def parameters(self):
        """Return the list of the neuron's weights and its bias."""
        return [*self.weights, self.bias]


class Layer:
    """Neurons side by side, all of the same inputs.

    Attributes:
        neurons: a list of Neurons.
    """

    def __init__(self, inputs, outputs, generator, linear=False):
        """Make `outputs` neurons of `inputs` inputs each."""
        self.neurons = [Neuron(inputs, generator, linear) for _ in range(outputs)]

    def __call__(self, xs):
        """Return the list of the neurons' answers to a list of Values or numbers."""
        return [neuron(xs) for neuron in self.neurons]

    def parameters(self):
        """Return the list of all the neurons' parameters."""
        return [p for neuron in self.neurons for p in neuron.parameters()]


class MLP:
    """Layers in a row: each reads the answers of the one before; the last is linear.

    Attributes:
        layers: a list of Layers.
    """

    def __init__(self, sizes, generator):
        """Make the layers: sizes [2, 8, 1] is 2 inputs, 8 hidden neurons, 1 output."""
        pairs = list(pairwise(sizes))
        hidden = [Layer(i, o, generator) for i, o in pairs[:-1]]
        self.layers = [*hidden, Layer(*pairs[-1], generator, linear=True)]

    def __call__(self, xs):
        """Return the last layer's answers, a list of Values, to a list of Values or numbers."""
        for layer in self.layers:
            xs = layer(xs)
        return xs

    def parameters(self):
        """Return the list of all the layers' parameters."""
        return [p for layer in self.layers for p in layer.parameters()]


def mean_squared_error(predictions, targets):
    """Return the mean of (prediction - target) ** 2, a Value.

    `predictions` is a list of Values, `targets` a list of numbers of the same length.
    """
    return sum((p - t) ** 2 for p, t in zip(predictions, targets)) / len(predictions)


def descend(parameters, loss, rate, steps):
    """Move each parameter against its gradient, `rate` times as far, `steps` times.

    `loss` is called without arguments and returns a Value. Gradients are cleared
    before each step, whatever they held. Returns the losses before each step, as
    a list of numbers.
    """
    history = []
    for _ in range(steps):
        for p in parameters:
            p.grad = 0.0
        now = loss()
        now.backward()
        for p in parameters:
            p.data -= rate * p.grad
        history.append(number(now))
    return history
