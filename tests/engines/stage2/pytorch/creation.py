from functools import partial

import numpy as np
import torch

from .tensor import Tensor, dtype_of, wrap


def filled(value, shape, requires_grad=False, dtype=np.float32):
    return wrap(torch.full(shape, value, dtype=dtype_of(dtype), requires_grad=requires_grad))


def drawn(draw, shape, generator, requires_grad=False, dtype=np.float32):
    return Tensor(draw(generator, size=shape), requires_grad, dtype)


def full(shape, value, *options, **named):
    return filled(value, shape, *options, **named)


def arange(*bounds, dtype=np.int64):
    return wrap(torch.arange(*bounds, dtype=dtype_of(dtype)))


zeros, ones = partial(filled, 0), partial(filled, 1)
rand, randn = partial(drawn, np.random.Generator.random), partial(drawn, np.random.Generator.normal)
