"""Functions without parameters: activations, softmax and its relatives, dropout."""

import math

import numpy as np

from solutions.stage2_tensor.shapes import axes_of, with_axes
from solutions.stage2_tensor.tensor import floating, record, where

from .gaussian import density, share_below


def leaky_relu(x, slope=0.01):
    """Return x where x > 0 and slope * x elsewhere; the derivative at 0 is `slope`."""
    return where(x > 0, x, x * slope)


def gelu(x, approximate="none"):
    """Return x Phi(x), where Phi(x) is the share of the normal distribution below x.

    With approximate="tanh", Phi(x) is nearly (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2.
    ValueError for another word. Hendrycks and Gimpel, Gaussian Error Linear Units (2016).
    """
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))
        return 0.5 * x * (1 + inner.tanh())
    if approximate != "none":
        raise ValueError(f'approximate is "none" or "tanh", not {approximate!r}')
    x = floating(x)
    below = share_below(x.data)
    gradient = lambda g: (g * (below + x.data * density(x.data)),)
    return record(x.data * below, (x,), gradient)


def silu(x):
    """Return x * sigmoid(x)."""
    return x * x.sigmoid()


def softplus(x):
    """Return log(1 + e ** x), a smooth relu; finite for every number."""
    x = floating(x)
    out = np.maximum(x.data, 0) + np.log1p(np.exp(-np.abs(x.data)))  # e ** -|x| never overflows
    return record(out, (x,), lambda g: (g * x.detach().sigmoid().data,))


# Softmax and its relatives subtract the largest element first: the result is the same, and no
# exponential overflows. They have their own gradients: through exp, sum and log, the way back
# would be several times as long, and NaN at entries of -inf.


@np.errstate(invalid="ignore")
def softmax(x, axis=-1):
    """Return e ** x over its sum along `axis`. An entry of -inf becomes 0; of only those, NaN."""
    x = floating(x)
    powers = np.exp(x.data - largest(x.data, axis))
    out = powers / powers.sum(axis=axis, keepdims=True)
    return record(out, (x,), lambda g: (out * (g - (g * out).sum(axis=axis, keepdims=True)),))


@np.errstate(all="ignore")
def log_softmax(x, axis=-1):
    """Return the logarithm of softmax(x, axis); finite where that is too small for a number."""
    x = floating(x)
    shifted = x.data - largest(x.data, axis)
    out = shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))
    return record(out, (x,), lambda g: (g - np.exp(out) * g.sum(axis=axis, keepdims=True),))


@np.errstate(all="ignore")
def logsumexp(x, axis=-1, keepdims=False):
    """Return the logarithm of the sum of e ** x over `axis`, a number or a tuple; of none, -inf."""
    x, axes = floating(x), axes_of(axis, x.ndim)
    top = largest(x.data, axes)
    top = np.where(np.isfinite(top), top, 0)  # inf - inf is NaN
    out = np.log(np.exp(x.data - top).sum(axis=axes, keepdims=True)) + top
    gradient = lambda g: (with_axes(g, axes, x.shape) * np.exp(x.data - out),)
    return record(out if keepdims else out.squeeze(axes), (x,), gradient)


def dropout(x, p, training, *, generator):
    """Return x with each element 0 with probability p and the others divided by 1 - p.

    So the expectation stays, and without `training` the result is x itself.
    ValueError for p outside [0, 1]. Srivastava et al., Dropout (2014), section 10.
    """
    if not 0 <= p <= 1:
        raise ValueError(f"dropout needs a probability from 0 to 1, not {p}")
    if not training or p == 0:
        return x
    kept = generator.random(x.shape) >= p
    return where(kept, x, 0.0) * (1 / (1 - p) if p < 1 else 0.0)


def largest(x, axis):
    """Return the largest elements of an array over `axis`, which stays with length 1."""
    return x.max(axis=axis, keepdims=True, initial=-np.inf)
