# Generated from solutions/stage1_autodiff/network.py. The bodies are yours to write.
"""A small network of `Value`s, and the descent that trains it."""




def weighted_sum(weights, inputs, bias):
    """Return bias + w1 x1 + w2 x2 + ... as a single Value.

    `weights` and `bias` are Values, `inputs` Values or numbers, as many as weights.
    ValueError if their counts differ. One node for the whole sum: an operation
    may have any number of parents.
    """
    raise NotImplementedError("1.10 weighted_sum")


class Neuron:
    """tanh(bias + weights . inputs), or without the tanh where `linear`.

    Attributes:
        weights: a list of Values, one per input.
        bias: a Value.
    """

    def __init__(self, inputs, generator, linear=False):
        """Draw `inputs` weights uniformly from -1 to 1 by `generator` (random.Random); bias 0."""
        raise NotImplementedError("1.10 Neuron.__init__")

    def __call__(self, xs):
        """Return the neuron's answer, a Value, to a list of Values or numbers."""
        raise NotImplementedError("1.10 Neuron.__call__")

    def parameters(self):
        """Return the list of the neuron's weights and its bias."""
        raise NotImplementedError("1.10 Neuron.parameters")


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
        raise NotImplementedError("1.10 Layer.__call__")

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
        raise NotImplementedError("1.10 MLP.__init__")

    def __call__(self, xs):
        """Return the last layer's answers, a list of Values, to a list of Values or numbers."""
        raise NotImplementedError("1.10 MLP.__call__")

    def parameters(self):
        """Return the list of all the layers' parameters."""
        return [p for layer in self.layers for p in layer.parameters()]


def mean_squared_error(predictions, targets):
    """Return the mean of (prediction - target) ** 2, a Value.

    `predictions` is a list of Values, `targets` a list of numbers of the same length.
    """
    raise NotImplementedError("1.10 mean_squared_error")


def descend(parameters, loss, rate, steps):
    """Move each parameter against its gradient, `rate` times as far, `steps` times.

    `loss` is called without arguments and returns a Value. Gradients are cleared
    before each step, whatever they held. Returns the losses before each step, as
    a list of numbers.
    """
    raise NotImplementedError("1.10 descend")
