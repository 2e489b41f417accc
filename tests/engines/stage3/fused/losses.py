"""Losses as single nodes."""

import numpy as np

from solutions.stage2_tensor.tensor import Tensor, record

from .functional import logistic, normalised_powers
from .layers import class_ids

WORDS = {"mean", "sum", "none"}


def loss(input, target, reduction, value, slope_input, slope_target):
    """Return one node for value(x, y) and its reduction."""
    target = target if isinstance(target, Tensor) else Tensor(target)
    if reduction not in WORDS:
        raise ValueError(f"reduction is one of {WORDS}")
    if input.shape != target.shape:
        raise ValueError("input and target have different shapes")
    x, y = input.data, target.data
    dtype = np.result_type(x, y)
    each = np.asarray(value(x, y), dtype)
    share = 1 / max(each.size, 1) if reduction == "mean" else 1.0
    out = each if reduction == "none" else np.asarray(each.sum() * share, dtype)

    def gradient(g):
        return [(g * share * slope(x, y)).astype(t.dtype) for slope, t in ((slope_input, input), (slope_target, target))]

    return record(out, (input, target), gradient)


def mse_loss(input, target, reduction="mean"):
    return loss(
        input, target, reduction,
        lambda x, y: np.square(x - y), lambda x, y: 2 * (x - y), lambda x, y: 2 * (y - x),
    )  # fmt: skip


def l1_loss(input, target, reduction="mean"):
    return loss(
        input, target, reduction,
        lambda x, y: np.abs(x - y), lambda x, y: np.sign(x - y), lambda x, y: np.sign(y - x),
    )  # fmt: skip


def binary_cross_entropy_with_logits(input, target, reduction="mean"):
    """log(1 + e ** x) - x y."""
    return loss(
        input, target, reduction,
        lambda x, y: np.logaddexp(0, x) - x * y, lambda x, y: logistic(x) - y, lambda x, y: -x,
    )  # fmt: skip


def cross_entropy(
    input, target, weight=None, ignore_index=-100, label_smoothing=0.0, reduction="mean"
):
    """The gradient is: share of softmax times the sum of the wanted shares, minus these."""
    ids = np.asarray(target.data if isinstance(target, Tensor) else target)
    if reduction not in WORDS or input.ndim != 2 or ids.shape != input.shape[:1]:
        raise ValueError("need logits (N, C), ids (N,), and a reduction with a name")
    n, c = input.shape
    weight = np.ones(c) if weight is None else np.array(getattr(weight, "data", weight), float)
    if weight.shape != (c,):
        raise ValueError("need C weights")
    used = np.flatnonzero(ids != ignore_index)
    chosen = class_ids(ids[used].astype(ids.dtype), c)
    x = input.data[used].astype(float)  # (M, C)
    wanted = np.full((len(used), c), label_smoothing / c)
    wanted[np.arange(len(used)), chosen] += 1 - label_smoothing
    wanted *= weight
    with np.errstate(all="ignore"):
        logs = x - np.logaddexp.reduce(x, axis=1, keepdims=True)
        each = np.zeros(n)
        each[used] = np.where(wanted == 0, 0, -wanted * logs).sum(axis=1)
        share = 1 / np.float64(weight[chosen].sum()) if reduction == "mean" else 1.0
        out = each if reduction == "none" else each.sum() * share

    def gradient(g):
        found = np.zeros((n, c))
        part = normalised_powers(x) * wanted.sum(axis=1, keepdims=True) - wanted
        found[used] = part * (g[used, None] if reduction == "none" else g * share)
        return [found.astype(input.dtype)]

    return record(np.asarray(out, input.dtype), (input,), gradient)
