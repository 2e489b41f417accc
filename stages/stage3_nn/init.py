# Generated from solutions/stage3_nn/init.py. The bodies are yours to write.
"""What parameters hold before training: drawn such that activations keep their size.

Each function fills `parameter.data` in place and returns the parameter.
"""

import math


def fan_in_and_out(shape):
    """Return how many inputs an output of a weight sums, and how many outputs an input reaches.

    `shape` is (out, in) or, for a convolution, (out, in, *kernel). ValueError for
    fewer than two axes.
    """
    raise NotImplementedError("3.2 fan_in_and_out")


def uniform(parameter, low, high, *, generator):
    """Draw uniformly from [low, high)."""
    parameter.data[...] = generator.uniform(low, high, parameter.shape)
    return parameter


def normal(parameter, mean, std, *, generator):
    """Draw from the normal distribution."""
    parameter.data[...] = generator.normal(mean, std, parameter.shape)
    return parameter


def zeros(parameter):
    """Fill with 0."""
    parameter.data[...] = 0
    return parameter


def ones(parameter):
    """Fill with 1."""
    parameter.data[...] = 1
    return parameter


def xavier_uniform(parameter, gain=1.0, *, generator):
    """Draw uniformly with the deviation of `xavier_std`."""
    return uniform_of_std(parameter, xavier_std(parameter, gain), generator)


def xavier_normal(parameter, gain=1.0, *, generator):
    """Draw from the normal distribution with the deviation of `xavier_std`."""
    return normal(parameter, 0, xavier_std(parameter, gain), generator=generator)


def kaiming_uniform(parameter, gain=math.sqrt(2), fan="in", *, generator):
    """Draw uniformly with the deviation of `kaiming_std`."""
    return uniform_of_std(parameter, kaiming_std(parameter, gain, fan), generator)


def kaiming_normal(parameter, gain=math.sqrt(2), fan="in", *, generator):
    """Draw from the normal distribution with the deviation of `kaiming_std`."""
    return normal(parameter, 0, kaiming_std(parameter, gain, fan), generator=generator)


def xavier_std(parameter, gain):
    """Return gain * sqrt(2 / (fan in + fan out)): a compromise of both passes.

    Glorot and Bengio, Understanding the difficulty of training deep feedforward
    neural networks (2010), equation 16.
    """
    raise NotImplementedError("3.2 xavier_std")


def kaiming_std(parameter, gain, fan):
    """Return gain / sqrt(fan): "in" keeps the size of activations, "out" that of gradients.

    The gain sqrt(2) makes up for the half that relu drops. ValueError for another
    fan. He et al., Delving Deep into Rectifiers (2015), equations 10 and 14.
    """
    raise NotImplementedError("3.2 kaiming_std")


def uniform_of_std(parameter, std, generator):
    """Draw uniformly from within sqrt(3) deviations of 0: the variance of [-b, b] is b ** 2 / 3."""
    raise NotImplementedError("3.2 uniform_of_std")
