"""New tensors. Numbers are drawn in double precision and rounded."""

import numpy as np

from .tensor import Tensor


def full(shape, value, requires_grad=False, dtype=np.float32):
    return Tensor(np.broadcast_to(np.asarray(value, dtype), shape), requires_grad)


def zeros(shape, requires_grad=False, dtype=np.float32):
    return full(shape, 0, requires_grad, dtype)


def ones(shape, requires_grad=False, dtype=np.float32):
    return full(shape, 1, requires_grad, dtype)


def arange(*bounds, dtype=np.int64):
    return Tensor(np.fromiter(range(*bounds), dtype))


def rand(shape, generator, requires_grad=False, dtype=np.float32):
    """Return one draw of the generator for each element, one after another."""
    return drawn(generator.random, shape, requires_grad, dtype)


def randn(shape, generator, requires_grad=False, dtype=np.float32):
    return drawn(generator.standard_normal, shape, requires_grad, dtype)


def drawn(draw, shape, requires_grad, dtype):
    count = int(np.prod(shape))
    numbers = np.array([draw(dtype=np.float32) for _ in range(count)], dtype)
    return Tensor(numbers.reshape(shape), requires_grad)
