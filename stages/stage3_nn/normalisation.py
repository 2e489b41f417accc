# Generated from solutions/stage3_nn/normalisation.py. The bodies are yours to write.
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
    raise NotImplementedError("3.7 layer_norm")


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
        raise NotImplementedError("3.7 LayerNorm.forward")


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
        raise NotImplementedError("3.7 RMSNorm.forward")


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
    raise NotImplementedError("3.7 standardise")


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
        raise NotImplementedError("3.7 BatchNorm.forward")

    def track(self, x, axes):
        """Move the running averages towards the statistics of the array x over `axes`."""
        raise NotImplementedError("3.7 BatchNorm.track")


class BatchNorm1d(BatchNorm):
    """BatchNorm of samples (N, C) or sequences (N, C, L)."""

    ranks = (2, 3)
