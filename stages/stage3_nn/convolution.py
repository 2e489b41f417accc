# Generated from solutions/stage3_nn/convolution.py. The bodies are yours to write.
"""Convolution and pooling of images: x has shape (N, C, H, W), samples first, then channels.

Both look at windows of an image, all of them at once: a loop runs over the few
positions inside a window, never over the image.
"""

import math

import numpy as np

from solutions.stage2_tensor.tensor import operands, record

from .layers import drawn
from .module import Module
from .normalisation import BatchNorm


def conv2d(x, weight, bias=None, stride=1, padding=0):
    """Return the correlation of images with kernels, plus a bias per output channel.

    x (N, C, H, W), weight (O, C, P, Q), bias (O,) give (N, O, H', W'), where
    H' = (H + 2 padding - P) // stride + 1. `stride` and `padding` are a number or
    one for each axis. ValueError where the shapes do not fit.
    """
    raise NotImplementedError("3.10 conv2d")


class Windows:
    """Windows of size (P, Q), H' of them below each other and W' side by side on an image.

    Attributes:
        grid: (H', W').
        spots: for each position in a window, the index of the elements that all
            windows have there: x[spot] is (N, C, H', W').
    """

    def __init__(self, shape, size, stride):
        """Lay them on images of `shape`, `stride` apart. ValueError where none fits."""
        raise NotImplementedError("3.10 Windows.__init__")

    def columns(self, images):
        """Return all windows' elements of an array (N, C, H, W), as (N, C, P, Q, H', W')."""
        down, right = self.stride
        windows = np.lib.stride_tricks.sliding_window_view(images, self.size, axis=(2, 3))
        return windows[:, :, ::down, ::right].transpose(0, 1, 4, 5, 2, 3)


def correlate(x, weight, windows):
    """Return the kernels' answers at all windows: one matrix product per image.

    In `columns` an element stands once for each window it is in. Fused: as one
    product instead of P Q of them.
    """
    raise NotImplementedError("3.10 correlate")


class Conv2d(Module):
    """conv2d with trained kernels.

    Attributes:
        weight: a Parameter (out_channels, in_channels, *kernel_size).
        bias: a Parameter (out_channels,), or None.
    """

    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, bias=True, *, generator
    ):
        """Draw weight and bias uniformly from within 1 / sqrt(fan in) of 0."""
        super().__init__()
        self.stride, self.padding = stride, padding
        shape = (out_channels, in_channels, *pair(kernel_size))
        bound = 1 / math.sqrt(max(math.prod(shape[1:]), 1))
        self.weight = drawn(shape, bound, generator)
        self.bias = drawn((out_channels,), bound, generator) if bias else None

    def forward(self, x):
        """Return (N, O, H', W') for (N, C, H, W)."""
        return conv2d(x, self.weight, self.bias, self.stride, self.padding)


class Pool2d(Module):
    """What both kinds of pooling share: a window, which moves by its own size unless told."""

    def __init__(self, kernel_size, stride=None):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride


class MaxPool2d(Pool2d):
    """The largest element of each window; of equal ones, the first gets the gradient."""

    def forward(self, x):
        """Return (N, C, H', W') for (N, C, H, W)."""
        raise NotImplementedError("3.10 MaxPool2d.forward")


class AvgPool2d(Pool2d):
    """The mean of each window."""

    def forward(self, x):
        """Return (N, C, H', W') for (N, C, H, W)."""
        raise NotImplementedError("3.10 AvgPool2d.forward")


class BatchNorm2d(BatchNorm):
    """BatchNorm of images (N, C, H, W)."""

    ranks = (4,)


def pair(number):
    """Return a number for both axes, or the two that are given, as a tuple."""
    return (number, number) if isinstance(number, int) else tuple(number)
