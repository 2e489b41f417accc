"""New tensors: filled, counted, drawn from a generator that the caller seeds."""

import numpy as np

from .tensor import Tensor


def zeros(shape, requires_grad=False, dtype=np.float32):
    """Return a Tensor of zeros."""
    return Tensor(np.zeros(shape, dtype), requires_grad)


def ones(shape, requires_grad=False, dtype=np.float32):
    """Return a Tensor of ones."""
    return Tensor(np.ones(shape, dtype), requires_grad)


def full(shape, value, requires_grad=False, dtype=np.float32):
    """Return a Tensor that holds `value` everywhere."""
    return Tensor(np.full(shape, value, dtype), requires_grad)


def arange(*bounds, dtype=np.int64):
    """Return whole numbers as Python's `range` does: stop, or start and stop, or with a step."""
    return Tensor(np.arange(*bounds, dtype=dtype))


def rand(shape, generator, requires_grad=False, dtype=np.float32):
    """Return draws of a numpy Generator, uniform in [0, 1)."""
    return Tensor(generator.random(shape).astype(dtype), requires_grad)


def randn(shape, generator, requires_grad=False, dtype=np.float32):
    """Return draws of a numpy Generator from the normal distribution of mean 0 and variance 1."""
    return Tensor(generator.standard_normal(shape).astype(dtype), requires_grad)
