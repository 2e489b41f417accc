import math

import numpy as np


def fan_in_and_out(shape):
    if len(shape) < 2:
        raise ValueError("no fans with fewer than two axes")
    return math.prod(shape) // shape[0], math.prod(shape) // shape[1]


def fill(parameter, draws):
    np.copyto(parameter.data, draws, casting="same_kind")
    return parameter


def symmetric(parameter, bound, generator):
    return fill(parameter, (2 * generator.random(parameter.shape) - 1) * bound)


def gaussian(parameter, std, generator):
    return fill(parameter, generator.standard_normal(parameter.shape) * std)


def xavier_uniform(parameter, gain=1.0, *, generator):
    return symmetric(parameter, gain * math.sqrt(6 / sum(fan_in_and_out(parameter.shape))), generator)


def xavier_normal(parameter, gain=1.0, *, generator):
    return gaussian(parameter, gain * math.sqrt(2 / sum(fan_in_and_out(parameter.shape))), generator)


def chosen_fan(parameter, fan):
    return dict(zip(("in", "out"), fan_in_and_out(parameter.shape)))[checked(fan)]


def checked(fan):
    if fan not in ("in", "out"):
        raise ValueError("a fan is in or out")
    return fan


def kaiming_uniform(parameter, gain=2**0.5, fan="in", *, generator):
    return symmetric(parameter, gain * math.sqrt(3 / chosen_fan(parameter, fan)), generator)


def kaiming_normal(parameter, gain=2**0.5, fan="in", *, generator):
    return gaussian(parameter, gain * chosen_fan(parameter, fan) ** -0.5, generator)
