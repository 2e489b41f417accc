import math

import numpy as np


def fan_in_and_out(shape):
    if len(shape) < 2:
        raise ValueError("fans need two axes")
    kernel = int(np.prod(shape[2:]))
    return shape[1] * kernel, shape[0] * kernel


def draw(parameter, std, kind, generator):
    """Draw in single precision, with deviation `std`."""
    shape = parameter.shape
    if kind == "normal":
        draws = generator.standard_normal(shape, np.float32)
    else:
        draws = (generator.random(shape, np.float32) - np.float32(0.5)) * np.float32(math.sqrt(12))
    parameter.data[:] = draws * np.float32(std)
    return parameter


def xavier(parameter, gain, kind, generator):
    fan_in, fan_out = fan_in_and_out(parameter.shape)
    return draw(parameter, gain / math.sqrt((fan_in + fan_out) / 2), kind, generator)


def kaiming(parameter, gain, fan, kind, generator):
    if fan != "in" and fan != "out":
        raise ValueError("fan is in or out")
    return draw(parameter, gain / math.sqrt(fan_in_and_out(parameter.shape)[fan == "out"]), kind, generator)


def xavier_uniform(parameter, gain=1.0, *, generator):
    return xavier(parameter, gain, "uniform", generator)


def xavier_normal(parameter, gain=1.0, *, generator):
    return xavier(parameter, gain, "normal", generator)


def kaiming_uniform(parameter, gain=math.sqrt(2.0), fan="in", *, generator):
    return kaiming(parameter, gain, fan, "uniform", generator)


def kaiming_normal(parameter, gain=math.sqrt(2.0), fan="in", *, generator):
    return kaiming(parameter, gain, fan, "normal", generator)
