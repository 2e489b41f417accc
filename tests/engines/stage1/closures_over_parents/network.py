"""Neurons that multiply and add one term after the other, under micrograd's `Module`."""

from .autodiff import Value


class Module:
    def parameters(self):
        return []

    def zero_grad(self):
        for p in self.parameters():
            p.grad = 0.0


def weighted_sum(weights, inputs, bias):
    """Return bias + w . x as one node, whose closure adds into all operands."""
    if len(weights) != len(inputs):
        raise ValueError(f"cannot pair {len(weights)} weights with {len(inputs)} inputs")
    pairs = [(w, x if isinstance(x, Value) else Value(x)) for w, x in zip(weights, inputs)]
    operands = [operand for pair in pairs for operand in pair]
    out = Value(sum((w.data * x.data for w, x in pairs), bias.data), (*operands, bias), "w.x+b")

    def _backward(grad, read):
        for w, x in pairs:
            w.grad += grad * read(x)
            x.grad += grad * read(w)
        bias.grad += grad

    out._backward = _backward
    return out


class Neuron(Module):
    def __init__(self, inputs, generator, linear=False):
        self.weights = [Value(generator.uniform(-1, 1)) for _ in range(inputs)]
        self.bias = Value(0)
        self.linear = linear

    def __call__(self, xs):
        if len(xs) != len(self.weights):
            raise ValueError(f"this neuron reads {len(self.weights)} inputs, got {len(xs)}")
        activation = sum((w * x for w, x in zip(self.weights, xs)), self.bias)
        return activation if self.linear else activation.tanh()

    def parameters(self):
        return [*self.weights, self.bias]


class Layer(Module):
    def __init__(self, inputs, outputs, generator, linear=False):
        self.neurons = [Neuron(inputs, generator, linear=linear) for _ in range(outputs)]

    def __call__(self, xs):
        return [neuron(xs) for neuron in self.neurons]

    def parameters(self):
        return [p for neuron in self.neurons for p in neuron.parameters()]


class MLP(Module):
    def __init__(self, sizes, generator):
        last = len(sizes) - 2
        self.layers = [
            Layer(sizes[i], sizes[i + 1], generator, linear=i == last) for i in range(last + 1)
        ]

    def __call__(self, xs):
        for layer in self.layers:
            xs = layer(xs)
        return xs

    def parameters(self):
        return [p for layer in self.layers for p in layer.parameters()]


def mean_squared_error(predictions, targets):
    losses = [(prediction - target) ** 2 for prediction, target in zip(predictions, targets)]
    return sum(losses) * (1 / len(losses))


def descend(parameters, loss, rate, steps):
    losses = []
    for _ in range(steps):
        for p in parameters:
            p.grad = 0.0
        current = loss()
        current.backward()
        losses.append(current.data)
        for p in parameters:
            p.data -= rate * p.grad
    return losses
