"""Normalisation by `mean`, `var` and their gradients."""

import numpy as np

from solutions.stage2_tensor.tensor import Tensor

from .module import Module, Parameter


def ones(shape):
    return Parameter(np.ones(shape, "float32"))


def zeros(shape):
    return Parameter(np.zeros(shape, "float32"))


class Norm(Module):
    """Over the last axes."""

    def __init__(self, normalized_shape, eps):
        super().__init__()
        number = isinstance(normalized_shape, int)
        self.normalized_shape = (normalized_shape,) if number else tuple(normalized_shape)
        self.eps = eps
        self.weight = ones(self.normalized_shape)

    def axes(self, x):
        count = len(self.normalized_shape)
        if x.shape[-count:] != self.normalized_shape:
            raise ValueError(f"last axes of {x.shape} are not {self.normalized_shape}")
        return tuple(range(-count, 0))


class LayerNorm(Norm):
    def __init__(self, normalized_shape, eps=1e-5):
        super().__init__(normalized_shape, eps)
        self.bias = zeros(self.normalized_shape)

    def forward(self, x):
        axes = self.axes(x)
        mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True, correction=0)
        return (x - mean) / (var + self.eps).sqrt() * self.weight + self.bias


class RMSNorm(Norm):
    def __init__(self, normalized_shape, eps=1e-6):
        super().__init__(normalized_shape, eps)

    def forward(self, x):
        square = (x**2).mean(self.axes(x), keepdims=True)
        return x / (square + self.eps).sqrt() * self.weight


class BatchNorm(Module):
    """Channels last, so that nothing needs another shape than (C,)."""

    ranks = ()

    def __init__(self, num_features, eps=1e-5, momentum=0.1):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.weight, self.bias = ones(num_features), zeros(num_features)
        self.register_buffer("running_mean", Tensor(np.zeros(num_features, "float32")))
        self.register_buffer("running_var", Tensor(np.ones(num_features, "float32")))
        self.register_buffer("num_batches_tracked", Tensor(np.array(0)))

    def forward(self, x):
        if x.ndim not in self.ranks or x.shape[1] != self.num_features:
            raise ValueError(f"cannot normalise shape {x.shape}")
        x = x.swapaxes(1, -1)
        mean, var = self.running_mean, self.running_var
        if self.training:
            axes = tuple(range(x.ndim - 1))
            mean, var = x.mean(axes), x.var(axes, correction=0)
            count = x.size // max(self.num_features, 1)
            if count < 2:
                raise ValueError("one value has no variance")
            self.running_mean = self.moved(self.running_mean, mean.data)
            self.running_var = self.moved(self.running_var, var.data * (count / (count - 1)))
            self.num_batches_tracked = self.num_batches_tracked + 1
        return ((x - mean) * (var + self.eps) ** -0.5 * self.weight + self.bias).swapaxes(1, -1)

    def moved(self, average, new):
        """Return a new buffer, `momentum` of the way from the old one to `new`."""
        old = average.data
        return Tensor((old + self.momentum * (new - old)).astype(old.dtype))


class BatchNorm1d(BatchNorm):
    ranks = (2, 3)
