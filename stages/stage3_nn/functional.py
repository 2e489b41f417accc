# Generated from solutions/stage3_nn/functional.py. The bodies are yours to write.
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
    raise NotImplementedError("3.3 leaky_relu")


def gelu(x, approximate="none"):
    """Return x Phi(x), where Phi(x) is the share of the normal distribution below x.

    With approximate="tanh", Phi(x) is nearly (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2.
    ValueError for another word. Hendrycks and Gimpel, Gaussian Error Linear Units (2016).
    """
    raise NotImplementedError("3.3 gelu")


def exact_gelu(x):
    """Return gelu of an array, and its derivative."""
    raise NotImplementedError("3.3 exact_gelu")


def tanh_gelu(x):
    """Return the approximation of gelu by tanh, and its derivative."""
    raise NotImplementedError("3.3 tanh_gelu")


def silu(x):
    """Return x * sigmoid(x)."""
    raise NotImplementedError("3.3 silu")


def softplus(x):
    """Return log(1 + e ** x), a smooth relu; finite for every number."""
    raise NotImplementedError("3.3 softplus")


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
    raise NotImplementedError("3.4 softmax")


@np.errstate(all="ignore")
def log_softmax(x, axis=-1):
    """Return the logarithm of softmax(x, axis); finite where that is too small for a number."""
    raise NotImplementedError("3.4 log_softmax")


@np.errstate(all="ignore")
def logsumexp(x, axis=-1, keepdims=False):
    """Return the logarithm of the sum of e ** x over `axis`, a number or a tuple; of none, -inf."""
    raise NotImplementedError("3.4 logsumexp")


def dropout(x, p, training, *, generator):
    """Return x with each element 0 with probability p and the others divided by 1 - p.

    So the expectation stays, and without `training` the result is x itself.
    ValueError for p outside [0, 1]. Srivastava et al., Dropout (2014), section 10.
    """
    raise NotImplementedError("3.8 dropout")


def largest(x, axis):
    """Return the largest elements of an array over `axis`, which stays with length 1."""
    return x.max(axis=axis, keepdims=True, initial=-np.inf)
