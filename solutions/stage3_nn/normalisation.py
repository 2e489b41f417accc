"""Normalisation: LayerNorm and RMSNorm over features, BatchNorm over samples."""

import numpy as np

from solutions.stage2_tensor.tensor import Tensor, floating, operands, record

from .module import Module, Parameter


def layer_norm(x, weight, bias, eps):
    """Return (x - mean) / sqrt(variance + eps) * weight + bias, over the last axes of x.

    These are the axes of weight and bias. Both statistics depend on x, hence the
    two means in its gradient. Fused, and rows summed by matrix products: half the
    time of the same from small operations.
    """
    x, weight = operands(x, weight)
    x, bias = operands(x, bias)
    n = weight.size
    rows, w = x.data.reshape(-1, n), weight.data.reshape(n)
    unit = rows - rows @ np.ones((n, 1), x.dtype) / n  # (R, n)
    variance = np.einsum("ij,ij->i", unit, unit) / n  # (R,)
    scale = (1 / np.sqrt(variance + x.dtype.type(eps)))[:, None]  # (R, 1)
    unit *= scale

    def gradient(g):
        g = g.reshape(rows.shape)
        along, share = g * unit, w[:, None] / n  # (R, n), (n, 1)
        in_x = g * w
        in_x -= g @ share
        in_x -= unit * (along @ share)
        in_x *= scale
        in_weight, in_bias = along.sum(axis=0), g.sum(axis=0)
        return in_x.reshape(x.shape), in_weight.reshape(weight.shape), in_bias.reshape(bias.shape)

    out = unit * w
    out += bias.data.reshape(n)
    return record(out.reshape(x.shape), (x, weight, bias), gradient)


class LayerNorm(Module):
    """Each sample's features, brought to mean 0 and variance 1, times weight, plus bias.

    Ba, Kiros and Hinton, Layer Normalization (2016), section 3.

    Attributes:
        normalized_shape: the lengths of the last axes, over which the statistics are taken.
        weight, bias: Parameters of that shape; ones and zeros at first.
    """

    def __init__(self, normalized_shape, eps=1e-5):
        super().__init__()
        self.normalized_shape, self.eps = lengths(normalized_shape), eps
        self.weight = Parameter(np.ones(self.normalized_shape, np.float32))
        self.bias = Parameter(np.zeros(self.normalized_shape, np.float32))

    def forward(self, x):
        """Return a Tensor like x. ValueError unless x's last axes have `normalized_shape`."""
        last_axes(x, self.normalized_shape)
        return layer_norm(x, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    """Each sample's features over the root of their mean square, times weight.

    Zhang and Sennrich, Root Mean Square Layer Normalization (2019), equation 4.

    Attributes:
        normalized_shape: the lengths of the last axes, over which the mean is taken.
        weight: a Parameter of that shape; ones at first.
    """

    def __init__(self, normalized_shape, eps=1e-6):
        super().__init__()
        self.normalized_shape, self.eps = lengths(normalized_shape), eps
        self.weight = Parameter(np.ones(self.normalized_shape, np.float32))

    def forward(self, x):
        """Return a Tensor like x. ValueError unless x's last axes have `normalized_shape`."""
        axes = last_axes(x, self.normalized_shape)
        mean_square = (x * x).mean(axis=axes, keepdims=True)
        return x * (mean_square + self.eps) ** -0.5 * self.weight


def lengths(normalized_shape):
    """Return a length, or a sequence of them, as a tuple."""
    return (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)


def last_axes(x, shape):
    """Return the numbers of x's last axes; ValueError unless they have the lengths `shape`."""
    first = x.ndim - len(shape)
    if first < 0 or x.shape[first:] != shape:
        raise ValueError(f"cannot normalise shape {x.shape} over last axes of {shape}")
    return tuple(range(first, x.ndim))


def standardise(x, axes, eps):
    """Return (x - mean) / sqrt(variance + eps), of the elements over `axes`: a primitive, too."""
    x = floating(x)
    out = x.data - x.data.mean(axis=axes, keepdims=True)
    scale = 1 / np.sqrt(np.square(out).mean(axis=axes, keepdims=True) + x.dtype.type(eps))
    out *= scale

    def gradient(g):
        in_x = g - g.mean(axis=axes, keepdims=True)
        in_x -= out * (g * out).mean(axis=axes, keepdims=True)
        in_x *= scale
        return (in_x,)

    return record(out, (x,), gradient)


class BatchNorm(Module):
    """Each channel, brought to mean 0 and variance 1 over the batch, times weight, plus bias.

    Axis 1 of x counts the channels C. In training the statistics are the batch's,
    and running averages of them are kept: those serve in evaluation. The variance
    divides by n, its running average by n - 1. Ioffe and Szegedy, Batch
    Normalization (2015), algorithms 1 and 2.

    Attributes:
        weight, bias: Parameters of shape (C,); ones and zeros at first.
        running_mean, running_var: buffers of shape (C,); zeros and ones at first.
        num_batches_tracked: a buffer: how many batches they have seen.
    """

    ranks = ()  # how many axes x may have; a subclass says

    def __init__(self, num_features, eps=1e-5, momentum=0.1):
        """Make C = `num_features` channels; a batch has the share `momentum` in the averages."""
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.weight = Parameter(np.ones(num_features, np.float32))
        self.bias = Parameter(np.zeros(num_features, np.float32))
        self.register_buffer("running_mean", Tensor(np.zeros(num_features, np.float32)))
        self.register_buffer("running_var", Tensor(np.ones(num_features, np.float32)))
        self.register_buffer("num_batches_tracked", Tensor(np.array(0)))

    def forward(self, x):
        """Return a Tensor like x.

        ValueError for other ranks and other channels, and in training for a
        single value per channel: it has no variance.
        """
        if x.ndim not in self.ranks or x.shape[1] != self.num_features:
            raise ValueError(
                f"need {self.num_features} channels on axis 1 of {self.ranks} axes, not {x.shape}"
            )
        axes = (0, *range(2, x.ndim))
        column = (self.num_features,) + (1,) * (x.ndim - 2)  # (C, 1, ...)
        weight, bias = self.weight.reshape(column), self.bias.reshape(column)
        if self.training:
            self.track(x.data, axes)
            return standardise(x, axes, self.eps) * weight + bias
        mean = self.running_mean.reshape(column)
        scale = weight / (self.running_var.reshape(column) + self.eps).sqrt()
        return x * scale + (bias - mean * scale)

    def track(self, x, axes):
        """Move the running averages towards the statistics of the array x over `axes`."""
        count = x.size // max(self.num_features, 1)
        if count < 2:
            raise ValueError(
                f"no variance in a batch of shape {x.shape}: {count} value per channel"
            )
        keep, share = 1 - self.momentum, self.momentum
        mean, var = self.running_mean.data, self.running_var.data
        mean[...] = keep * mean + share * x.mean(axis=axes)
        var[...] = keep * var + share * x.var(axis=axes, ddof=1)
        self.num_batches_tracked.data[...] += 1


class BatchNorm1d(BatchNorm):
    """BatchNorm of samples (N, C) or sequences (N, C, L)."""

    ranks = (2, 3)
