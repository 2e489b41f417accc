# Generated from solutions/stage3_nn/layers.py. The bodies are yours to write.
"""Layers: Linear, the activations as modules, Embedding, Dropout, Flatten."""

import math

import numpy as np

from solutions.stage2_tensor.tensor import array_of, record

from . import functional, init
from .module import Module, Parameter


class Linear(Module):
    """x @ weight.T + bias, on the last axis of x.

    Attributes:
        weight: a Parameter of shape (out_features, in_features).
        bias: a Parameter of shape (out_features,), or None.
    """

    def __init__(self, in_features, out_features, bias=True, *, generator):
        """Draw weight and bias uniformly from within 1 / sqrt(in_features) of 0."""
        raise NotImplementedError("3.2 Linear.__init__")

    def forward(self, x):
        """Return the outputs (..., out_features) for x of shape (..., in_features)."""
        raise NotImplementedError("3.2 Linear.forward")


def drawn(shape, bound, generator):
    """Return a Parameter of `shape` in float32, uniform in [-bound, bound)."""
    raise NotImplementedError("3.2 drawn")


class ReLU(Module):
    """max(x, 0)."""

    def forward(self, x):
        return x.relu()


class LeakyReLU(Module):
    """x where x > 0, slope * x elsewhere."""

    def __init__(self, slope=0.01):
        super().__init__()
        self.slope = slope

    def forward(self, x):
        return functional.leaky_relu(x, self.slope)


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, x):
        return x.tanh()


class Sigmoid(Module):
    """1 / (1 + e ** -x)."""

    def forward(self, x):
        return x.sigmoid()


class GELU(Module):
    """x Phi(x); `approximate` as in functional.gelu."""

    def __init__(self, approximate="none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, x):
        return functional.gelu(x, self.approximate)


class SiLU(Module):
    """x * sigmoid(x)."""

    def forward(self, x):
        return functional.silu(x)


class Softplus(Module):
    """log(1 + e ** x)."""

    def forward(self, x):
        return functional.softplus(x)


class Softmax(Module):
    """e ** x over its sum along `axis`."""

    def __init__(self, axis=-1):
        super().__init__()
        self.axis = axis

    def forward(self, x):
        return functional.softmax(x, self.axis)


class Embedding(Module):
    """A row of numbers for each id.

    Attributes:
        weight: a Parameter of shape (num_embeddings, embedding_dim).
        padding_idx: the id of padding, or None; its row starts as 0 and gets the gradient 0.
    """

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, *, generator):
        """Draw the rows from N(0, 1). ValueError where `padding_idx` is not one of the ids."""
        raise NotImplementedError("3.6 Embedding.__init__")

    def forward(self, ids):
        """Return the rows of `ids`: shape (..., embedding_dim) for ids of shape (...).

        `ids` is a Tensor, an array or a list. TypeError unless they are whole
        numbers; IndexError for an id that has no row, negative ones too.
        """
        raise NotImplementedError("3.6 Embedding.forward")


def whole_numbers(ids):
    """Return ids as an array; TypeError unless they are whole numbers."""
    ids = array_of(ids)
    if ids.dtype.kind not in "iu":
        raise TypeError(f"ids are whole numbers (an integer dtype), not {ids.dtype}")
    return ids.astype(np.intp)


def check_range(ids, count):
    """Raise IndexError unless each of the array `ids` is one of 0, ..., count - 1."""
    strange = ids[(ids < 0) | (ids >= count)]
    if strange.size:
        raise IndexError(f"ids go from 0 to {count - 1}, found {strange[0]}")


class Dropout(Module):
    """In training, each element is 0 with probability p and else divided by 1 - p.

    In evaluation it passes x on. Every call draws from `generator`.
    """

    def __init__(self, p=0.5, *, generator):
        """Keep p and the generator; ValueError for p outside [0, 1]."""
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout needs a probability from 0 to 1, not {p}")
        self.p, self.generator = p, generator

    def forward(self, x):
        return functional.dropout(x, self.p, self.training, generator=self.generator)


class Flatten(Module):
    """Make all axes but the first, which counts the samples, one."""

    def forward(self, x):
        return x.flatten(1)
