# Generated from solutions/stage3_nn/losses.py. The bodies are yours to write.
"""Losses: how wrong predictions are, as one number (or one per sample) to descend on."""

import numpy as np

from solutions.stage2_tensor.tensor import array_of, as_tensor, where

from .functional import log_softmax, softplus
from .layers import check_range, whole_numbers


def mse_loss(input, target, reduction="mean"):
    """Return (input - target) ** 2, reduced. ValueError where the shapes differ."""
    raise NotImplementedError("3.5 mse_loss")


def l1_loss(input, target, reduction="mean"):
    """Return |input - target|, reduced. ValueError where the shapes differ."""
    raise NotImplementedError("3.5 l1_loss")


def binary_cross_entropy_with_logits(input, target, reduction="mean"):
    """Return -y log(p) - (1 - y) log(1 - p), reduced, where p = sigmoid(input) and y = target.

    -log(sigmoid(x)) is softplus(-x), which no logit overflows. ValueError where
    the shapes differ.
    """
    raise NotImplementedError("3.5 binary_cross_entropy_with_logits")


def cross_entropy(
    input, target, weight=None, ignore_index=-100, label_smoothing=0.0, reduction="mean"
):
    """Return -log(softmax(input)) at the target classes, reduced.

    Args:
        input: logits, (N, C).
        target: class ids, (N,): a Tensor, an array or a list of whole numbers.
        weight: how much each class counts, (C,).
        ignore_index: samples of this target count nothing.
        label_smoothing: the share of each target that is spread over all C classes
            (Szegedy et al., Rethinking the Inception Architecture, 2015, section 7).
        reduction: "mean" divides by the summed weights of the targets that count,
            so it is NaN if none does; "sum"; or "none", a Tensor (N,).

    ValueError for other shapes, TypeError for ids that are not whole numbers,
    IndexError for ids that are no class.
    """
    raise NotImplementedError("3.5 cross_entropy")


def class_weights(weight, logits):
    """Return the weights of C classes as an array in the dtype of the logits (N, C); None is 1."""
    weights = np.ones(logits.shape[1]) if weight is None else array_of(weight)
    if weights.shape != logits.shape[1:]:
        raise ValueError(f"need one weight per class, {logits.shape[1:]}, not {weights.shape}")
    return weights.astype(logits.dtype)


def same_shape(input, target):
    """Return `target` as a Tensor; ValueError unless it has the shape of `input`."""
    target = as_tensor(target)
    if target.shape != input.shape:
        raise ValueError(f"input {input.shape} and target {target.shape} differ in shape")
    return target


def reduced(losses, reduction):
    """Return the "mean" or "sum" of losses, or for "none" themselves; ValueError else."""
    raise NotImplementedError("3.5 reduced")
