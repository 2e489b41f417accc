"""New tensors of a given shape."""

import numpy as np

from .tensor import Tensor


def filled_by(numpy_function):
    def create(shape, requires_grad=False, dtype="float32"):
        return Tensor(numpy_function(shape, dtype=dtype), requires_grad=requires_grad)

    return create


zeros = filled_by(np.zeros)
ones = filled_by(np.ones)


def full(shape, value, requires_grad=False, dtype="float32"):
    return Tensor(np.full(shape, value, dtype=dtype), requires_grad=requires_grad)


def arange(*bounds, dtype="int64"):
    return Tensor(np.array(range(*bounds), dtype=dtype))


def rand(shape, generator, requires_grad=False, dtype="float32"):
    """Draw in the precision that is asked for."""
    return Tensor(generator.random(shape, dtype=dtype), requires_grad=requires_grad)


def randn(shape, generator, requires_grad=False, dtype="float32"):
    return Tensor(generator.standard_normal(shape, dtype=dtype), requires_grad=requires_grad)
