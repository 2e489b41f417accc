"""Convolution by `sliding_window_view` and `einsum`; its gradient in x is another convolution."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from solutions.stage2_tensor.tensor import record

from .layers import uniform
from .module import Module
from .normalisation import BatchNorm


def both(number):
    return (number,) * 2 if isinstance(number, int) else tuple(number)


def windows_of(x, size, stride):
    """Return a view (N, C, H', W', P, Q)."""
    if x.ndim != 4 or min(stride) < 1 or min(size) < 1 or x.shape[2] < size[0] or x.shape[3] < size[1]:
        raise ValueError(f"windows of {size} do not fit images of {x.shape}")
    return sliding_window_view(x, size, axis=(2, 3))[:, :, :: stride[0], :: stride[1]]


def padded(x, rows, cols):
    return np.pad(x, [(0, 0), (0, 0), (rows, rows), (cols, cols)])


def conv2d(x, weight, bias=None, stride=1, padding=0):
    if x.ndim != 4 or weight.ndim != 4 or x.shape[1] != weight.shape[1]:
        raise ValueError(f"images {x.shape} and kernels {weight.shape} do not fit")
    stride, (rows, cols), size = both(stride), both(padding), weight.shape[2:]
    image = padded(x.data, rows, cols)
    windows = windows_of(image, size, stride)
    parts = [x, weight] if bias is None else [x, weight, bias]
    out = np.einsum("nchwpq,ocpq->nohw", windows, weight.data)
    if bias is not None:
        out = out + bias.data[:, None, None]

    def gradient(g):
        # The gradient with gaps of the stride between its elements, padded by kernel - 1, is
        # convolved with the kernels turned around.
        n, o = g.shape[:2]
        wide = np.zeros((n, o, image.shape[2] - size[0] + 1, image.shape[3] - size[1] + 1), g.dtype)
        wide[:, :, :: stride[0], :: stride[1]] = g
        wide = padded(wide, size[0] - 1, size[1] - 1)
        around = weight.data[:, :, ::-1, ::-1]
        in_image = np.einsum("nohwpq,ocpq->nchw", sliding_window_view(wide, size, axis=(2, 3)), around)
        in_x = in_image[:, :, rows : rows + x.shape[2], cols : cols + x.shape[3]]
        found = in_x, np.einsum("nohw,nchwpq->ocpq", g, windows), np.einsum("nohw->o", g)
        return [f.astype(p.dtype) for f, p in zip(found, parts)]

    return record(out, parts, gradient)


class Conv2d(Module):
    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, bias=True, *, generator
    ):
        super().__init__()
        high, wide = both(kernel_size)
        self.stride, self.padding = stride, padding
        bound = max(in_channels * high * wide, 1) ** -0.5
        self.weight = uniform((out_channels, in_channels, high, wide), bound, generator)
        self.bias = uniform((out_channels,), bound, generator) if bias else None

    def forward(self, x):
        return conv2d(x, self.weight, self.bias, self.stride, self.padding)


class Pool2d(Module):
    def __init__(self, kernel_size, stride=None):
        super().__init__()
        self.size = both(kernel_size)
        self.stride = self.size if stride is None else both(stride)

    def spread(self, x, parts):
        """Return an array like x with the sums of what (N, C, H', W', P, Q) sends to each element."""
        places = windows_of(np.arange(x.size).reshape(x.shape), self.size, self.stride)
        sums = np.bincount(places.ravel(), parts.ravel(), minlength=x.size)
        return sums.reshape(x.shape).astype(x.dtype)


class MaxPool2d(Pool2d):
    def forward(self, x):
        windows = windows_of(x.data, self.size, self.stride)
        flat = windows.reshape(*windows.shape[:4], -1)
        first = flat.argmax(-1)[..., None]

        def gradient(g):
            parts = np.zeros(flat.shape)
            np.put_along_axis(parts, first, g[..., None], -1)
            return [self.spread(x.data, parts)]

        return record(np.take_along_axis(flat, first, -1)[..., 0], (x,), gradient)


class AvgPool2d(Pool2d):
    def forward(self, x):
        windows = windows_of(x.data, self.size, self.stride)

        def gradient(g):
            share = (g / (self.size[0] * self.size[1]))[..., None, None]
            return [self.spread(x.data, np.broadcast_to(share, windows.shape))]

        return record(windows.mean(axis=(-2, -1)), (x,), gradient)


class BatchNorm2d(BatchNorm):
    axes = (4,)
