"""A network whose weighted sum is one more `Operation`."""

from .autodiff import Operation, Value


class WeightedSum(Operation):
    """w1 x1 + w2 x2 + ... + bias of the operands w1, w2, ..., x1, x2, ..., bias."""

    def forward(self, *operands):
        count = len(operands) // 2
        weights, inputs, bias = operands[:count], operands[count:-1], operands[-1]
        self.save(weights, inputs)
        total = 0.0
        for w, x in zip(weights, inputs):
            total += w * x
        return total + bias

    def backward(self, upstream):
        weights, inputs = self.saved
        return [upstream * x for x in inputs] + [upstream * w for w in weights] + [upstream]


def weighted_sum(weights, inputs, bias):
    """Return bias + w . x as one node; ValueError if the counts differ."""
    if len(weights) != len(inputs):
        raise ValueError(f"expected {len(weights)} inputs, got {len(inputs)}")
    return WeightedSum.apply(*weights, *inputs, bias)


class Neuron:
    def __init__(self, inputs, generator, linear=False):
        self.weights = [Value(generator.uniform(-1, 1)) for _ in range(inputs)]
        self.bias = Value(0.0)
        self.linear = linear

    def __call__(self, xs):
        total = weighted_sum(self.weights, xs, self.bias)
        return total if self.linear else total.tanh()

    def parameters(self):
        return [*self.weights, self.bias]


class Layer:
    def __init__(self, inputs, outputs, generator, linear=False):
        self.neurons = [Neuron(inputs, generator) for _ in range(outputs)]
        for neuron in self.neurons:
            neuron.linear = linear

    def __call__(self, xs):
        return [neuron(xs) for neuron in self.neurons]

    def parameters(self):
        found = []
        for neuron in self.neurons:
            found.extend(neuron.parameters())
        return found


class MLP:
    def __init__(self, sizes, generator):
        self.layers = []
        for i in range(1, len(sizes)):
            self.layers.append(Layer(sizes[i - 1], sizes[i], generator))
        for neuron in self.layers[-1].neurons:
            neuron.linear = True

    def __call__(self, xs):
        for layer in self.layers:
            xs = layer(xs)
        return xs

    def parameters(self):
        found = []
        for layer in self.layers:
            found.extend(layer.parameters())
        return found


def mean_squared_error(predictions, targets):
    errors = [target - prediction for prediction, target in zip(predictions, targets)]
    return sum([error * error for error in errors]) / len(errors)


class Descent:
    """Gradient descent as an object: parameters and a rate."""

    def __init__(self, parameters, rate):
        self.parameters = list(parameters)
        self.rate = rate

    def clear(self):
        for p in self.parameters:
            p.grad = 0.0

    def step(self):
        for p in self.parameters:
            p.data += -self.rate * p.grad


def descend(parameters, loss, rate, steps):
    descent = Descent(parameters, rate)
    history = []
    while len(history) < steps:
        descent.clear()
        current = loss()
        current.backward()
        descent.step()
        history.append(current.data)
    return history
