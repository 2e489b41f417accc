"""Biases come first and layers are drawn from the last to the first, weights from right to left."""

from .autodiff import Value, compute


def weighted_sum(weights, inputs, bias):
    """Return bias + w . x as one node of the operation "affine"."""
    if len(weights) != len(inputs):
        raise ValueError(f"{len(weights)} weights but {len(inputs)} inputs")
    return compute("affine", bias, *weights, *inputs)


class Neuron:
    def __init__(self, inputs, generator, linear=False):
        self.linear = linear
        self.bias = Value(0)
        drawn = [1 - 2 * generator.random() for _ in range(inputs)]
        self.weights = [Value(w) for w in reversed(drawn)]

    def __call__(self, xs):
        total = weighted_sum(self.weights, xs, self.bias)
        if self.linear:
            return total
        return total.tanh()

    def parameters(self):
        return [self.bias, *self.weights]


class Layer:
    def __init__(self, inputs, outputs, generator, linear=False):
        self.neurons = [Neuron(inputs, generator, linear) for _ in range(outputs)][::-1]

    def __call__(self, xs):
        return [neuron(xs) for neuron in self.neurons]

    def parameters(self):
        biases = [neuron.bias for neuron in self.neurons]
        return biases + [w for neuron in self.neurons for w in neuron.weights]


class MLP:
    def __init__(self, sizes, generator):
        self.layers = []
        for i in range(len(sizes) - 1, 0, -1):
            linear = not self.layers
            self.layers.insert(0, Layer(sizes[i - 1], sizes[i], generator, linear))

    def __call__(self, xs):
        for layer in self.layers:
            xs = layer(xs)
        return xs

    def parameters(self):
        return [p for layer in self.layers[::-1] for p in layer.parameters()]


def mean_squared_error(predictions, targets):
    total = 0
    for p, t in reversed(list(zip(predictions, targets))):
        total += (p - t) * (p - t)
    return total / len(predictions)


def descend(parameters, loss, rate, steps):
    history = []
    while steps > len(history):
        for p in parameters:
            p.grad = 0
        current = loss()
        current.backward()
        history.append(current.data)
        for p in parameters:
            p.data += rate * -p.grad
    return history
