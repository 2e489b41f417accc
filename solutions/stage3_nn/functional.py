"""Functions without parameters: activations, softmax and its relatives, dropout."""

import math

import numpy as np

from solutions.stage2_tensor.shapes import axes_of, with_axes
from solutions.stage2_tensor.tensor import floating, record, where

from .gaussian import density, share_below

BLOCK = 1 << 15  # elements: with what a function needs on its way, they fit in the cache


@np.errstate(all="ignore")
def elementwise(x, function):
    """Return f(x), where `function` maps an array to the pair f, f' at its elements.

    Block by block: gelu of half a million elements takes a quarter of the time so.
    """
    x = floating(x)
    flat = x.data.reshape(-1)
    value, slope = np.empty_like(flat), np.empty_like(flat)
    for start in range(0, flat.size, BLOCK):
        block = slice(start, start + BLOCK)
        value[block], slope[block] = function(flat[block])
    slope = slope.reshape(x.shape)
    return record(value.reshape(x.shape), (x,), lambda g: (g * slope,))


def leaky_relu(x, slope=0.01):
    """Return x where x > 0 and slope * x elsewhere; the derivative at 0 is `slope`."""

    def function(x):
        slopes = np.array([slope, 1], x.dtype).take(x > 0)  # a fifth of the time of np.where
        return x * slopes, slopes

    return elementwise(x, function)


def gelu(x, approximate="none"):
    """Return x Phi(x), where Phi(x) is the share of the normal distribution below x.

    With approximate="tanh", Phi(x) is nearly (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2.
    ValueError for another word. Hendrycks and Gimpel, Gaussian Error Linear Units (2016).
    """
    if approximate not in ("none", "tanh"):
        raise ValueError(f'approximate is "none" or "tanh", not {approximate!r}')
    return elementwise(x, exact_gelu if approximate == "none" else tanh_gelu)


def exact_gelu(x):
    """Return gelu of an array, and its derivative."""
    share = share_below(x)
    return x * share, share + x * density(x)


def tanh_gelu(x):
    """Return the approximation of gelu by tanh, and its derivative."""
    root, square = math.sqrt(2 / math.pi), x * x
    tanh = np.tanh(root * x * (1 + 0.044715 * square))
    share = (1 + tanh) / 2
    return x * share, share + x * (1 - tanh * tanh) * (root / 2 * (1 + 3 * 0.044715 * square))


def silu(x):
    """Return x * sigmoid(x)."""

    def function(x):
        share = sigmoid(x)
        return x * share, share * (1 + x * (1 - share))

    return elementwise(x, function)


def softplus(x):
    """Return log(1 + e ** x), a smooth relu; finite for every number."""
    return elementwise(x, lambda x: (np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))), sigmoid(x)))


def sigmoid(x):
    """Return 1 / (1 + e ** -x) for an array, multiplied by e ** x / e ** x where x < 0.

    So no exponential overflows.
    """
    return np.exp(np.minimum(x, 0)) / (1 + np.exp(-np.abs(x)))


# Softmax and its relatives subtract the largest element first: the result is the same, and no
# exponential overflows. They have their own gradients: through exp, sum and log, the way back
# would be several times as long, and NaN at entries of -inf. They work in place on arrays of
# their own, which saves a fifth of the time where those are large.


@np.errstate(invalid="ignore")
def softmax(x, axis=-1):
    """Return e ** x over its sum along `axis`. An entry of -inf becomes 0; of only those, NaN."""
    x = floating(x)
    out = x.data - largest(x.data, axis)
    np.exp(out, out=out)
    out /= out.sum(axis=axis, keepdims=True)

    def gradient(g):
        in_x = g * out
        in_x -= out * in_x.sum(axis=axis, keepdims=True)
        return (in_x,)

    return record(out, (x,), gradient)


@np.errstate(all="ignore")
def log_softmax(x, axis=-1):
    """Return the logarithm of softmax(x, axis); finite where that is too small for a number."""
    x = floating(x)
    out = x.data - largest(x.data, axis)
    out -= np.log(np.exp(out).sum(axis=axis, keepdims=True))

    def gradient(g):
        in_x = np.exp(out)
        in_x *= -g.sum(axis=axis, keepdims=True)
        in_x += g
        return (in_x,)

    return record(out, (x,), gradient)


@np.errstate(all="ignore")
def logsumexp(x, axis=-1, keepdims=False):
    """Return the logarithm of the sum of e ** x over `axis`, a number or a tuple; of none, -inf."""
    x, axes = floating(x), axes_of(axis, x.ndim)
    top = largest(x.data, axes)
    top = np.where(np.isfinite(top), top, 0)  # inf - inf is NaN
    out = np.log(np.exp(x.data - top).sum(axis=axes, keepdims=True)) + top

    def gradient(g):
        return (with_axes(g, axes, x.shape) * np.exp(x.data - out),)

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
