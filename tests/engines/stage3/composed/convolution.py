"""Images by indexing: two arrays of indices unfold all windows at once."""

import math

import numpy as np

from . import layers
from .module import Module
from .normalisation import BatchNorm


def pair(number):
    return (number, number) if isinstance(number, int) else tuple(number)


def along(length, size, stride):
    """Return the indices (windows, positions) along one axis."""
    count = (length - size) // stride + 1
    if size < 1 or stride < 1 or count < 1:
        raise ValueError(f"no window of {size} in {length}")
    return np.arange(count)[:, None] * stride + np.arange(size)


def unfolded(x, size, stride):
    """Return the windows of x (N, C, H, W) as (N, C, H', W', P, Q)."""
    (p, q), (down, right) = pair(size), pair(stride)
    if x.ndim != 4:
        raise ValueError("images have four axes")
    rows, cols = along(x.shape[2], p, down), along(x.shape[3], q, right)
    return x[:, :, rows[:, None, :, None], cols[None, :, None, :]]


def conv2d(x, weight, bias=None, stride=1, padding=0):
    if x.ndim != 4 or weight.ndim != 4 or x.shape[1] != weight.shape[1]:
        raise ValueError("images and kernels do not fit")
    rows, cols = pair(padding)
    padded = x.pad([(0, 0), (0, 0), (rows, rows), (cols, cols)])
    windows = unfolded(padded, weight.shape[2:], stride).permute(0, 2, 3, 1, 4, 5)
    n, high, wide = windows.shape[:3]
    flat = windows.reshape(n, high, wide, math.prod(weight.shape[1:]))
    out = flat @ weight.flatten(1).T  # (N, H', W', O)
    if bias is not None:
        out = out + bias
    return out.permute(0, 3, 1, 2)


class Conv2d(Module):
    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, bias=True, *, generator
    ):
        super().__init__()
        self.stride, self.padding = stride, padding
        shape = (out_channels, in_channels, *pair(kernel_size))
        bound = 1 / math.sqrt(max(math.prod(shape[1:]), 1))
        drawn = layers.uniform((out_channels,), bound, generator) if bias else None
        self.weight = layers.uniform(shape, bound, generator)
        self.bias = drawn

    def forward(self, x):
        return conv2d(x, self.weight, self.bias, self.stride, self.padding)


class Pool2d(Module):
    def __init__(self, kernel_size, stride=None):
        super().__init__()
        self.size, self.stride = kernel_size, kernel_size if stride is None else stride

    def forward(self, x):
        return self.pooled(unfolded(x, self.size, self.stride).flatten(4))


class MaxPool2d(Pool2d):
    def pooled(self, windows):
        """Gather what argmax found: the first of equal ones."""
        return windows.gather(-1, windows.argmax(-1).data[..., None]).squeeze(-1)


class AvgPool2d(Pool2d):
    def pooled(self, windows):
        return windows.mean(-1)


class BatchNorm2d(BatchNorm):
    ranks = (4,)
