import math

import numpy as np

from solutions.stage2_tensor.tensor import Tensor, record

from . import functional
from .functional import with_slope
from .module import Module, Parameter


def uniform(shape, bound, generator):
    return Parameter(generator.uniform(-bound, bound, shape).astype(np.float32))


class Linear(Module):
    """One node for the whole affine map."""

    def __init__(self, in_features, out_features, bias=True, *, generator):
        super().__init__()
        bound = max(in_features, 1) ** -0.5
        self.weight = uniform((out_features, in_features), bound, generator)
        self.bias = uniform(out_features, bound, generator) if bias else None

    def forward(self, x):
        parts = [x, self.weight] if self.bias is None else [x, self.weight, self.bias]
        arrays = [p.data for p in parts]
        out = np.einsum("...i,oi->...o", *arrays[:2])
        if self.bias is not None:
            out = out + arrays[2]

        def gradient(g):
            rows = g.reshape(-1, g.shape[-1])
            in_x = np.einsum("...o,oi->...i", g, arrays[1])
            in_weight = np.einsum("ro,ri->oi", rows, arrays[0].reshape(len(rows), -1))
            return [cast(part, p) for part, p in zip((in_x, in_weight, rows.sum(0)), parts)]

        return record(out, parts, gradient)


def cast(gradient, tensor):
    return gradient.astype(tensor.dtype)


class ReLU(Module):
    def forward(self, x):
        return with_slope(x, x.data.clip(0), x.data > 0)


class LeakyReLU(Module):
    def __init__(self, slope=0.01):
        super().__init__()
        self.slope = slope

    def forward(self, x):
        return functional.leaky_relu(x, self.slope)


class Tanh(Module):
    def forward(self, x):
        out = np.tanh(x.data)
        return with_slope(x, out, (1 - out) * (1 + out))


class Sigmoid(Module):
    def forward(self, x):
        out = functional.logistic(x.data)
        return with_slope(x, out, out - out**2)


class GELU(Module):
    def __init__(self, approximate="none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, x):
        return functional.gelu(x, self.approximate)


class SiLU(Module):
    def forward(self, x):
        return functional.silu(x)


class Softplus(Module):
    def forward(self, x):
        return functional.softplus(x)


class Softmax(Module):
    def __init__(self, axis=-1):
        super().__init__()
        self.axis = axis

    def forward(self, x):
        return functional.softmax(x, self.axis)


class Embedding(Module):
    """The gradient is the product with a table of which place holds which id."""

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, *, generator):
        super().__init__()
        if padding_idx is not None and not -1 < padding_idx < num_embeddings:
            raise ValueError("padding_idx has no row")
        self.padding_idx = padding_idx
        table = generator.normal(size=(num_embeddings, embedding_dim)).astype(np.float32)
        if padding_idx is not None:
            table[padding_idx] = 0
        self.weight = Parameter(table)

    def forward(self, ids):
        table = self.weight.data
        ids = class_ids(ids, len(table))

        def gradient(g):
            found = np.zeros_like(table)
            counted, back = np.unique(ids, return_inverse=True)
            owner = (np.arange(len(counted))[:, None] == back.reshape(1, -1)).astype(table.dtype)
            owner[counted == self.padding_idx] = 0
            found[counted] = owner @ g.reshape(ids.size, -1)
            return [found]

        return record(table.take(ids, axis=0), (self.weight,), gradient)


def class_ids(ids, count):
    ids = np.asarray(ids.data if isinstance(ids, Tensor) else ids)
    if ids.dtype.kind not in "ui":
        raise TypeError("ids are integers")
    if not np.isin(ids, np.arange(count)).all():
        raise IndexError(f"an id is not below {count}")
    return ids.astype(int)


class Dropout(Module):
    def __init__(self, p=0.5, *, generator):
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError("p is a probability")
        self.p, self.generator = p, generator

    def forward(self, x):
        return functional.dropout(x, self.p, self.training, generator=self.generator)


class Flatten(Module):
    def forward(self, x):
        shape = x.shape
        out = x.data.reshape(shape[0], math.prod(shape[1:]))
        return record(out, (x,), lambda g: [g.reshape(shape)])
