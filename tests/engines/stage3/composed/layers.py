import math

import numpy as np

from solutions.stage2_tensor.tensor import Tensor, where

from . import functional, init
from .module import Module, Parameter


class Linear(Module):
    def __init__(self, in_features, out_features, bias=True, *, generator):
        super().__init__()
        bound = 1 / math.sqrt(max(in_features, 1))
        drawn = uniform((out_features,), bound, generator) if bias else None  # before the weight
        self.weight = uniform((out_features, in_features), bound, generator)
        self.bias = drawn

    def forward(self, x):
        out = x @ self.weight.swapaxes(0, 1)
        return out + self.bias if self.bias is not None else out


def uniform(shape, bound, generator):
    return init.symmetric(Parameter(np.zeros(shape, "float32")), bound, generator)


class ReLU(Module):
    def forward(self, x):
        return where(x > 0, x, 0.0)


class LeakyReLU(Module):
    def __init__(self, slope=0.01):
        super().__init__()
        self.slope = slope

    def forward(self, x):
        return functional.leaky_relu(x, self.slope)


class Tanh(Module):
    def forward(self, x):
        return x.tanh()


class Sigmoid(Module):
    def forward(self, x):
        return (x * 0.5).tanh() * 0.5 + 0.5


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
    """By indexing; the padding's rows are cut out of the graph."""

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, *, generator):
        super().__init__()
        if padding_idx is not None and padding_idx not in range(num_embeddings):
            raise ValueError("padding_idx is no id")
        self.padding_idx = padding_idx
        self.weight = Parameter(generator.standard_normal((num_embeddings, embedding_dim), "float32"))
        if padding_idx is not None:
            self.weight.data[padding_idx] = 0

    def forward(self, ids):
        ids = ids_of(ids, len(self.weight))
        rows = self.weight[ids]
        if self.padding_idx is None:
            return rows
        return where((ids == self.padding_idx)[..., None], rows.detach(), rows)


def ids_of(ids, count):
    """Return ids as an array of whole numbers below `count`."""
    ids = ids.data if isinstance(ids, Tensor) else np.array(ids)
    if not np.issubdtype(ids.dtype, np.integer):
        raise TypeError("ids are whole numbers")
    if ids.size and not (ids.min() >= 0 and ids.max() < count):
        raise IndexError("an id has no row")
    return ids.astype(np.int64)


class Dropout(Module):
    def __init__(self, p=0.5, *, generator):
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError("p is a probability")
        self.p = p
        self.generator = generator

    def forward(self, x):
        return functional.dropout(x, self.p, self.training, generator=self.generator)


class Flatten(Module):
    def forward(self, x):
        return x.reshape(x.shape[0], math.prod(x.shape[1:]))
