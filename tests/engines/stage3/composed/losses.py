import numpy as np

from solutions.stage2_tensor.tensor import Tensor, where

from .functional import log_softmax
from .layers import ids_of


def mse_loss(input, target, reduction="mean"):
    return reduced((paired(input, target) - input) ** 2, reduction)


def l1_loss(input, target, reduction="mean"):
    return reduced((paired(input, target) - input).abs(), reduction)


def binary_cross_entropy_with_logits(input, target, reduction="mean"):
    target = paired(input, target)
    return reduced(input.maximum(0.0) - input * target + ((-input.abs()).exp() + 1.0).log(), reduction)


def cross_entropy(
    input, target, weight=None, ignore_index=-100, label_smoothing=0.0, reduction="mean"
):
    """The product of log-probabilities with a table of how much each counts for each sample."""
    ids = target.data if isinstance(target, Tensor) else np.array(target)
    if input.ndim != 2 or ids.shape != (len(input),):
        raise ValueError("need logits (N, C) and ids (N,)")
    classes = input.shape[1]
    weights = np.ones(classes) if weight is None else np.array(weight.data if isinstance(weight, Tensor) else weight)
    if weights.shape != (classes,):
        raise ValueError("need a weight per class")
    counts = ids != ignore_index
    ids = ids_of(np.where(counts, ids, 0), classes)
    table = (np.arange(classes) == ids[:, None]) * (1 - label_smoothing) + label_smoothing / classes
    table = (table * weights * counts[:, None]).astype(input.dtype)
    terms = where(table != 0, log_softmax(input, 1), 0.0) * Tensor(table)  # 0 * -inf would be NaN
    losses = -terms.sum(axis=1)
    if reduction != "mean":
        return reduced(losses, reduction)
    return losses.sum() / Tensor(np.array((weights[ids] * counts).sum(), input.dtype))


def paired(input, target):
    target = target if isinstance(target, Tensor) else Tensor(target)
    if target.shape != input.shape:
        raise ValueError("input and target differ in shape")
    return target


def reduced(losses, reduction):
    if reduction == "none":
        return losses
    if reduction == "sum":
        return losses.sum()
    if reduction == "mean":
        return losses.sum() / losses.size
    raise ValueError("a reduction is mean, sum or none")
