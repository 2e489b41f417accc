"""Normalisation in one node each, from sums over `einsum`."""

import math

import numpy as np

from solutions.stage2_tensor.tensor import Tensor, record

from .module import Module, Parameter


def tuple_of(shape):
    return tuple(shape) if hasattr(shape, "__iter__") else (int(shape),)


def rows_for(x, shape):
    """Return x as (R, n), where n features are normalised."""
    if len(shape) > x.ndim or x.shape[x.ndim - len(shape) :] != shape:
        raise ValueError(f"the last axes of {x.shape} should be {shape}")
    return x.data.reshape(-1, math.prod(shape))


def outputs_of(parts):
    return np.result_type(*[p.data for p in parts])


def affine_norm(x, rows, unit, root, centred, weight, bias, back):
    """Return unit * weight + bias as a node, where unit is (rows - mean) / root.

    `back` brings (R, n) to x's shape; weight and bias are flat in (n,).
    """
    n = rows.shape[1]
    parts = [p for p in (x, weight, bias) if p is not None]
    w = weight.data.reshape(-1)
    out = unit * w + (0 if bias is None else bias.data.reshape(-1))

    def gradient(g):
        g = g.reshape(rows.shape).astype(float)
        h = g * w
        # n root dx = n h - sum h - unit sum(h unit)
        total = n * h - unit * np.einsum("rn,rn->r", h, unit)[:, None]
        if centred:
            total -= h.sum(axis=1)[:, None]
        found = [back(total / (n * root)), np.einsum("rn,rn->n", g, unit), g.sum(axis=0)]
        return [f.reshape(p.shape).astype(p.dtype) for f, p in zip(found, parts)]

    return record(back(out).astype(outputs_of(parts)), parts, gradient)


class LayerNorm(Module):
    def __init__(self, normalized_shape, eps=1e-5):
        super().__init__()
        self.normalized_shape, self.eps = tuple_of(normalized_shape), eps
        self.weight = Parameter(np.ones(self.normalized_shape, np.float32))
        self.bias = Parameter(np.zeros(self.normalized_shape, np.float32))

    def forward(self, x):
        rows = rows_for(x, self.normalized_shape).astype(float)
        centred = rows - np.einsum("rn->r", rows)[:, None] / rows.shape[1]
        root = np.sqrt(np.einsum("rn,rn->r", centred, centred) / rows.shape[1] + self.eps)[:, None]
        return affine_norm(
            x, rows, centred / root, root, True, self.weight, self.bias, lambda a: a.reshape(x.shape)
        )


class RMSNorm(Module):
    def __init__(self, normalized_shape, eps=1e-6):
        super().__init__()
        self.normalized_shape, self.eps = tuple_of(normalized_shape), eps
        self.weight = Parameter(np.ones(self.normalized_shape, np.float32))

    def forward(self, x):
        rows = rows_for(x, self.normalized_shape).astype(float)
        root = np.sqrt(np.einsum("rn,rn->r", rows, rows) / rows.shape[1] + self.eps)[:, None]
        return affine_norm(
            x, rows, rows / root, root, False, self.weight, None, lambda a: a.reshape(x.shape)
        )


class BatchNorm(Module):
    """The channels as rows: (C, samples)."""

    axes = ()

    def __init__(self, num_features, eps=1e-5, momentum=0.1):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.register_buffer("running_mean", Tensor(np.zeros(num_features, np.float32)))
        self.register_buffer("running_var", Tensor(np.ones(num_features, np.float32)))
        self.register_buffer("num_batches_tracked", Tensor(np.zeros((), np.int64)))
        self.bias = Parameter(np.zeros(num_features, np.float32))
        self.weight = Parameter(np.ones(num_features, np.float32))
        self._parameters.move_to_end("bias")

    def forward(self, x):
        if x.ndim not in self.axes or x.shape[1] != self.num_features:
            raise ValueError(f"{self.num_features} channels are on axis 1 of {self.axes} axes")
        moved = np.moveaxis(x.data, 1, 0)
        rows = moved.reshape(self.num_features, x.size // self.num_features).astype(float)
        n = rows.shape[1]
        if self.training:
            if n == 1:
                raise ValueError("the variance of one value is not defined")
            mean = rows.mean(axis=1, keepdims=True)
            var = np.square(rows - mean).mean(axis=1, keepdims=True)
            self.update("running_mean", mean[:, 0])
            self.update("running_var", var[:, 0] * n / (n - 1))
            self.num_batches_tracked.data += 1
        else:
            mean = self.running_mean.data[:, None].astype(float)
            var = self.running_var.data[:, None].astype(float)
        root = np.sqrt(var + self.eps)
        unit, trained = (rows - mean) / root, self.training
        parts = (x, self.weight, self.bias)
        w = self.weight.data[:, None]
        back = lambda a: np.moveaxis(a.reshape(moved.shape), 0, 1)

        def gradient(g):
            g = np.moveaxis(g, 1, 0).reshape(rows.shape).astype(float)
            along, total = np.einsum("cn,cn->c", g, unit), g.sum(axis=1)
            in_rows = g - (total[:, None] + unit * along[:, None]) / n if trained else g
            found = back(in_rows * w / root), along, total
            return [f.astype(p.dtype) for f, p in zip(found, parts)]

        out = back(unit * w + self.bias.data[:, None])
        return record(out.astype(outputs_of(parts)), parts, gradient)

    def update(self, name, new):
        average = getattr(self, name).data
        average *= 1 - self.momentum
        average += (self.momentum * new).astype(average.dtype)


class BatchNorm1d(BatchNorm):
    axes = (2, 3)
