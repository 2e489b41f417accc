# Generated from solutions/stage2_tensor/creation.py. The bodies are yours to write.
"""New tensors: filled, counted, drawn from a generator that the caller seeds."""

import numpy as np

from .tensor import Tensor


def zeros(shape, requires_grad=False, dtype=np.float32):
    """Return a Tensor of zeros."""
    raise NotImplementedError("2.1 zeros")


def ones(shape, requires_grad=False, dtype=np.float32):
    """Return a Tensor of ones."""
    raise NotImplementedError("2.1 ones")


def full(shape, value, requires_grad=False, dtype=np.float32):
    """Return a Tensor that holds `value` everywhere."""
    raise NotImplementedError("2.1 full")


def arange(*bounds, dtype=np.int64):
    """Return whole numbers as Python's `range` does: stop, or start and stop, or with a step."""
    return Tensor(np.arange(*bounds, dtype=dtype))


def rand(shape, generator, requires_grad=False, dtype=np.float32):
    """Return draws of a numpy Generator, uniform in [0, 1)."""
    raise NotImplementedError("2.1 rand")


def randn(shape, generator, requires_grad=False, dtype=np.float32):
    """Return draws of a numpy Generator from the normal distribution of mean 0 and variance 1."""
    raise NotImplementedError("2.1 randn")
