"""Each function with its gradient, by other formulas than the solution's."""

import math

import numpy as np

from solutions.stage2_tensor.tensor import Tensor, record

from .gaussian import normal


def float_of(x):
    return x if x.dtype.kind == "f" else Tensor(x.data.astype(np.float32))


def with_slope(x, value, slope):
    dtype = x.dtype
    slope = np.asarray(slope, dtype)
    return record(np.asarray(value, dtype), (x,), lambda g: [g * slope])


def logistic(x):
    return 0.5 + 0.5 * np.tanh(x / 2)


def leaky_relu(x, slope=0.01):
    x = float_of(x)
    slopes = np.where(x.data > 0, 1.0, slope)
    return with_slope(x, np.where(x.data > 0, x.data, slope * x.data), slopes)


def gelu(x, approximate="none"):
    x = float_of(x)
    a = x.data.astype(float)
    if approximate == "none":
        share, density = normal(a)
        return with_slope(x, a * share, share + a * density)
    if approximate != "tanh":
        raise ValueError("approximate is none or tanh")
    # 1/2 (1 + tanh u) is the logistic function of 2 u.
    near = np.clip(a, -30, 30)
    u = math.sqrt(8 / math.pi) * (near + 0.044715 * near**3)
    share = logistic(u)
    steep = math.sqrt(8 / math.pi) * (1 + 0.134145 * near**2)
    return with_slope(x, a * share, share + a * share * (1 - share) * steep)


def silu(x):
    x = float_of(x)
    share = logistic(x.data)
    out = x.data * share
    return with_slope(x, out, share + out - out * share)


def softplus(x):
    x = float_of(x)
    return with_slope(x, np.logaddexp(0, x.data), logistic(x.data))


def rows_of(array, axis):
    """Return a copy with the axis last."""
    return np.moveaxis(array, axis, -1).copy()


def normalised_powers(rows):
    with np.errstate(all="ignore"):
        rows = np.exp(rows - rows.max(-1, keepdims=True))
        return rows / rows.sum(-1, keepdims=True)


def softmax(x, axis=-1):
    x = float_of(x)
    shares = normalised_powers(rows_of(x.data, axis))

    def gradient(g):
        """By the matrix of Jacobi: diag(s) - s s'."""
        g, n = rows_of(g, axis), shares.shape[-1]
        jacobian = np.einsum("...i,ij->...ij", shares, np.eye(n)) - np.einsum("...i,...j->...ij", shares, shares)
        return [np.moveaxis(np.einsum("...ij,...j->...i", jacobian, g).astype(x.dtype), -1, axis)]

    return record(np.moveaxis(shares, -1, axis), (x,), gradient)


def log_softmax(x, axis=-1):
    x = float_of(x)
    rows = rows_of(x.data, axis)
    with np.errstate(all="ignore"):
        logs = rows - np.logaddexp.reduce(rows, axis=-1, keepdims=True)

    def gradient(g):
        g = rows_of(g, axis)
        return [np.moveaxis(g - normalised_powers(rows) * g.sum(-1, keepdims=True), -1, axis)]

    return record(np.moveaxis(logs, -1, axis), (x,), gradient)


def logsumexp(x, axis=-1, keepdims=False):
    x = float_of(x)
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    out = x.data
    for one in axes:
        with np.errstate(all="ignore"):
            out = np.logaddexp.reduce(out, axis=one, keepdims=True)
    kept = out

    def gradient(g):
        with np.errstate(all="ignore"):
            return [g.reshape(kept.shape) * np.exp(x.data - kept)]

    return record(kept if keepdims else kept.squeeze(axes), (x,), gradient)


def dropout(x, p, training, *, generator):
    if p < 0 or p > 1:
        raise ValueError("p is a probability")
    if not training or p == 0:
        return x
    factor = 0.0 if p == 1 else 1 / (1 - p)
    kept = generator.random(x.shape) >= p
    return record(
        np.where(kept, x.data * x.dtype.type(factor), 0).astype(x.dtype), (x,),
        lambda g: [np.where(kept, g * g.dtype.type(factor), 0)],
    )  # fmt: skip
