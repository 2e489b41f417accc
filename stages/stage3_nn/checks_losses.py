"""The laws of softmax, losses, embeddings, normalisation and dropout: milestones 3.4 to 3.8."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grader.checking import (
    ERRORS,
    Seed,
    arrays,
    cases,
    dtypes,
    expect,
    expect_array,
    expect_close,
    expect_is,
    expect_module,
    expect_operation,
    expect_raises,
    milestone,
    numbers,
    shapes,
    spread,
    weights,
)

# 3.4 Softmax


def softmax(x, axis=-1):
    with np.errstate(all="ignore"):
        powers = np.exp(x - x.max(axis=axis, keepdims=True))
        return powers / powers.sum(axis=axis, keepdims=True)


def logsumexp(x, axis=-1, keepdims=False):
    with np.errstate(all="ignore"):
        top = x.max(axis=axis, keepdims=True)
        top = np.where(np.isfinite(top), top, 0)
        out = np.log(np.exp(x - top).sum(axis=axis, keepdims=True)) + top
        return out if keepdims else out.squeeze(axis)


def log_softmax(x, axis=-1):
    return x - logsumexp(x, axis, keepdims=True)


@st.composite
def with_axis(draw):
    """An array of one to three axes and one of them, from either end."""
    array = draw(arrays(shapes(1, 3, sides=(3, 2, 4, 1)), dtypes()))
    return array, draw(st.integers(-array.ndim, array.ndim - 1))


@milestone("3.4", examples=60)
@given(case=with_axis(), weights=weights())
def test_softmax(stage, case, weights):
    """softmax along any axis: e ** x over its sum, and its gradient for any gradient that arrives."""
    array, axis = case
    expect_operation(stage, lambda x: stage.softmax(x, axis), lambda x: softmax(x, axis), [array], weights)


@milestone("3.4", examples=60)
@given(case=with_axis(), weights=weights())
def test_log_softmax(stage, case, weights):
    """log_softmax along any axis, and its gradient for any gradient that arrives."""
    array, axis = case
    expect_operation(stage, lambda x: stage.log_softmax(x, axis), lambda x: log_softmax(x, axis), [array], weights)


@milestone("3.4", examples=60)
@given(case=with_axis(), keepdims=st.booleans(), weights=weights())
def test_logsumexp(stage, case, keepdims, weights):
    """logsumexp along any axis, kept or not, and its gradient, which is softmax."""
    array, axis = case
    expect_operation(
        stage, lambda x: stage.logsumexp(x, axis, keepdims), lambda x: logsumexp(x, axis, keepdims), [array], weights
    )


@milestone("3.4", examples=15)
@given(array=arrays((2, 3, 2), dtypes()), axis=cases([(0, 1), (2, 0), (-1, -2), (0, 1, 2)]), keepdims=st.booleans(), weights=weights())
def test_logsumexp_over_several_axes(stage, array, axis, keepdims, weights):
    """logsumexp over a tuple of axes sums over all of them."""
    expect_operation(
        stage, lambda x: stage.logsumexp(x, axis, keepdims), lambda x: logsumexp(x, axis, keepdims), [array], weights
    )


@milestone("3.4", examples=20)
@given(array=arrays((2, 3), dtypes()), weights=weights())
def test_the_last_axis_is_the_default(stage, array, weights):
    """Without an axis, softmax and its relatives take the last one; the module does, too."""
    expect_operation(stage, lambda x: stage.softmax(x), softmax, [array], weights)
    expect_operation(stage, lambda x: stage.log_softmax(x), log_softmax, [array], weights)
    expect_operation(stage, lambda x: stage.logsumexp(x), logsumexp, [array], weights)
    module = stage.Softmax()
    expect_operation(stage, lambda x: module(x), softmax, [array], weights)


EXACT = {"softmax": softmax, "log_softmax": log_softmax, "logsumexp": logsumexp}
NAMES = cases(list(EXACT))


def expect_softmax_of(stage, name, array, weights):
    """Values and gradients by the formulas: finite differences do not reach so far out."""
    exact = array.astype(float)
    value, share = EXACT[name](exact), softmax(exact)
    upstream = spread(weights, value.shape, array.dtype)
    with np.errstate(all="ignore"):
        if name == "softmax":
            gradient = share * (upstream - (upstream * share).sum(axis=-1, keepdims=True))
        elif name == "log_softmax":
            gradient = upstream - share * upstream.sum(axis=-1, keepdims=True)
        else:
            gradient = upstream[..., None] * share
    tensor = stage.Tensor(array, requires_grad=True)
    result = getattr(stage, name)(tensor)
    expect_array(result.data, value, array.dtype, "data")
    result.backward(upstream)
    expect_array(tensor.grad, gradient, array.dtype, "gradient")


@milestone("3.4", examples=40)
@given(
    name=NAMES, shift=cases([1000.0, -1000.0, 300.0]), array=arrays((2, 3), "float64"),
    rows=st.booleans(), weights=weights(),
)  # fmt: skip
def test_shifts(stage, name, shift, array, rows, weights):
    """A number added to a whole row, however large, changes softmax in nothing; rows do not meddle."""
    moved = array + np.array([[shift], [0.0]]) if rows else array + shift
    expect_softmax_of(stage, name, moved, weights)


@milestone("3.4", examples=40)
@given(name=NAMES, size=cases([1000.0, 10_000.0, 200.0]), dtype=dtypes(), weights=weights())
def test_extreme_entries(stage, name, size, dtype, weights):
    """Entries a thousand apart give 0 and 1, and exact logarithms: no log(0), no overflow."""
    array = np.array([[size, 0.0, -size], [0.0, 0.0, size]], dtype)
    expect_softmax_of(stage, name, array, weights)


@milestone("3.4", examples=30)
@given(name=cases(["softmax", "logsumexp"]), array=arrays((2, 3), dtypes()), place=st.integers(0, 2), weights=weights())
def test_entries_of_minus_infinity(stage, name, array, place, weights):
    """An entry of -inf, as masks make it, has the share 0 and the gradient 0, and harms no other."""
    array = array.copy()
    array[0, place] = -np.inf
    expect_softmax_of(stage, name, array, weights)


@milestone("3.4", examples=10)
@given(weights=weights(), dtype=dtypes())
def test_only_minus_infinity(stage, weights, dtype):
    """Of a row of only -inf, softmax is NaN and logsumexp -inf; other rows are as they should be."""
    array = np.array([[-np.inf, -np.inf], [0.5, -0.5]], dtype)
    expect_array(stage.softmax(stage.Tensor(array)).data, softmax(array.astype(float)), dtype, "softmax")
    expect_array(stage.logsumexp(stage.Tensor(array)).data, [-np.inf, logsumexp(array[1].astype(float))], dtype, "logsumexp")


# 3.5 Losses

REDUCTIONS = {"mean": np.mean, "sum": np.sum, "none": lambda x: x}
REDUCED = cases(list(REDUCTIONS))


@st.composite
def predictions(draw, low=-3.0):
    """Predictions and targets of one shape, nowhere equal."""
    shape = draw(shapes(1, 2, sides=(3, 2, 4)))
    dtype = draw(dtypes())
    return draw(arrays(shape, dtype, low)), draw(arrays(shape, dtype)) + np.array(0.05, dtype)


@milestone("3.5", examples=50)
@given(case=predictions(), reduction=REDUCED, weights=weights())
def test_mse_loss(stage, case, reduction, weights):
    """mse_loss is the squared difference: its mean, its sum, or each."""
    x, y = case
    expect_operation(
        stage, lambda a: stage.mse_loss(a, stage.Tensor(y), reduction=reduction),
        lambda a: REDUCTIONS[reduction]((a - y) ** 2), [x], weights,
    )  # fmt: skip


@milestone("3.5", examples=50)
@given(case=predictions(), reduction=REDUCED, weights=weights())
def test_l1_loss(stage, case, reduction, weights):
    """l1_loss is the absolute difference: its mean, its sum, or each."""
    x, y = case
    expect_operation(
        stage, lambda a: stage.l1_loss(a, stage.Tensor(y), reduction=reduction),
        lambda a: REDUCTIONS[reduction](np.abs(a - y)), [x], weights,
    )  # fmt: skip


@milestone("3.5", examples=20)
@given(case=predictions(), name=cases(["mse_loss", "l1_loss"]), weights=weights())
def test_a_loss_reaches_both_sides(stage, case, name, weights):
    """A target that requires a gradient gets one as well."""
    formula = (lambda a, b: np.mean((a - b) ** 2)) if name == "mse_loss" else (lambda a, b: np.mean(np.abs(a - b)))
    expect_operation(stage, lambda a, b: getattr(stage, name)(a, b), formula, list(case), weights)


@milestone("3.5", examples=20)
@given(name=cases(["mse_loss", "l1_loss", "binary_cross_entropy_with_logits"]))
def test_losses_do_not_broadcast(stage, name):
    """Input and target of different shapes are a ValueError: broadcasting would hide the slip."""
    a, b = stage.Tensor(np.ones((3, 1)), requires_grad=True), stage.Tensor(np.ones(3))
    expect_raises(ERRORS, lambda: getattr(stage, name)(a, b), "ValueError")


@milestone("3.5", examples=10)
@given(name=cases(["mse_loss", "l1_loss"]), word=cases(["average", "none?"]))
def test_reductions_have_three_names(stage, name, word):
    """A reduction other than "mean", "sum" and "none" is a ValueError."""
    a = stage.Tensor([1.0, 2.0])
    expect_raises(ERRORS, lambda: getattr(stage, name)(a, a, reduction=word), "ValueError")


@milestone("3.5", examples=50)
@given(
    x=arrays((2, 3), dtypes()), y=st.lists(st.sampled_from([0.0, 1.0, 0.3]), min_size=6, max_size=6),
    reduction=REDUCED, weights=weights(),
)  # fmt: skip
def test_binary_cross_entropy(stage, x, y, reduction, weights):
    """binary_cross_entropy_with_logits is -y log p - (1 - y) log(1 - p), with p = sigmoid(x)."""
    y = np.array(y).reshape(2, 3).astype(x.dtype)
    formula = lambda a: REDUCTIONS[reduction](np.log1p(np.exp(-a)) * y + np.log1p(np.exp(a)) * (1 - y))  # noqa: E731
    expect_operation(
        stage, lambda a: stage.binary_cross_entropy_with_logits(a, stage.Tensor(y), reduction=reduction), formula, [x], weights
    )


@milestone("3.5", examples=20)
@given(size=cases([100.0, 1000.0]), dtype=dtypes())
def test_binary_cross_entropy_of_extreme_logits(stage, size, dtype):
    """A logit of 1000 on the wrong side costs 1000, with the gradient 1: nothing overflows or is cut off."""
    x = stage.Tensor(np.array([size, -size, size, -size], dtype), requires_grad=True)
    y = stage.Tensor(np.array([1.0, 0.0, 0.0, 1.0], dtype))
    loss = stage.binary_cross_entropy_with_logits(x, y, reduction="sum")
    expect_array(loss.data, 2 * size, dtype, "data")
    loss.backward()
    expect_array(x.grad, [0.0, 0.0, 1.0, -1.0], dtype, "gradient")


def cross_entropy(x, ids, weight=None, ignore_index=-100, label_smoothing=0.0, reduction="mean"):
    """The definition, sample by sample."""
    classes = x.shape[1]
    weight = np.ones(classes) if weight is None else weight
    losses, counted = [], 0.0
    for row, target in zip(-log_softmax(x), ids):
        if target == ignore_index:
            losses.append(0.0)
            continue
        own = row[target] * weight[target]
        losses.append((1 - label_smoothing) * own + label_smoothing / classes * (row * weight).sum())
        counted += weight[target]
    if reduction == "none":
        return np.array(losses)
    return np.sum(losses) / (counted if reduction == "mean" else 1.0)


@st.composite
def classified(draw, ignore=False):
    """Logits (N, C) and class ids (N,), some of them -100 where `ignore`, but not all."""
    n, c = draw(st.sampled_from([3, 2, 4, 1])), draw(st.sampled_from([4, 3, 2, 5]))
    ids = [draw(st.integers(0, c - 1)) for _ in range(n)]
    if ignore and n > 1:
        for i in range(1, n):
            ids[i] = -100 if draw(st.booleans()) else ids[i]
        ids = draw(st.permutations(ids))
    return draw(arrays((n, c), draw(dtypes()))), np.array(ids)


def expect_cross_entropy(stage, case, weights, **options):
    x, ids = case
    expect_operation(
        stage, lambda a: stage.cross_entropy(a, stage.Tensor(ids), **options),
        lambda a: cross_entropy(a, ids, **options), [x], weights,
    )  # fmt: skip


@milestone("3.5", examples=60)
@given(case=classified(), reduction=REDUCED, weights=weights())
def test_cross_entropy(stage, case, reduction, weights):
    """cross_entropy takes logits (N, C) and ids (N,): -log softmax at the target, averaged over N."""
    expect_cross_entropy(stage, case, weights, reduction=reduction)


@milestone("3.5", examples=40)
@given(case=classified(ignore=True), reduction=REDUCED, weights=weights())
def test_ignored_targets(stage, case, reduction, weights):
    """Samples with the target -100 count nothing: neither in the sum nor in what the mean divides by."""
    expect_cross_entropy(stage, case, weights, reduction=reduction)


@milestone("3.5", examples=20)
@given(case=classified(), weights=weights())
def test_another_ignored_class(stage, case, weights):
    """`ignore_index` may be a class as well, as for padding."""
    if (case[1] == 0).all():
        return
    expect_cross_entropy(stage, case, weights, ignore_index=0)


@milestone("3.5", examples=40)
@given(case=classified(ignore=True), smoothing=cases([0.1, 0.5, 1.0]), reduction=REDUCED, weights=weights())
def test_label_smoothing(stage, case, smoothing, reduction, weights):
    """Label smoothing spreads its share over all C classes, the target's own included."""
    expect_cross_entropy(stage, case, weights, label_smoothing=smoothing, reduction=reduction)


@milestone("3.5", examples=40)
@given(case=classified(ignore=True), values=weights(), smoothing=cases([0.0, 0.3]), reduction=REDUCED, weights=weights())
def test_class_weights(stage, case, values, smoothing, reduction, weights):
    """Class weights multiply each sample's loss; the mean divides by the weights of the targets that count."""
    x, ids = case
    weight = np.abs(np.resize(np.array(values), x.shape[1])).astype(x.dtype)
    expect_operation(
        stage,
        lambda a: stage.cross_entropy(a, stage.Tensor(ids), weight=stage.Tensor(weight), label_smoothing=smoothing, reduction=reduction),
        lambda a: cross_entropy(a, ids, weight.astype(float), label_smoothing=smoothing, reduction=reduction),
        [x], weights,
    )  # fmt: skip


@milestone("3.5", examples=20)
@given(size=cases([1000.0, 300.0]), dtype=dtypes(), target=st.integers(0, 2))
def test_cross_entropy_of_extreme_logits(stage, size, dtype, target):
    """Logits a thousand apart cost exactly that, and the gradient is still there: no log(p + eps)."""
    x = stage.Tensor(np.array([[0.0, 0.0, size]], dtype), requires_grad=True)
    loss = stage.cross_entropy(x, stage.Tensor(np.array([target])))
    expect_array(loss.data, 0.0 if target == 2 else size, dtype, "data")
    loss.backward()
    gradient = np.array([[0.0, 0.0, 1.0]])
    gradient[0, target] -= 1.0
    expect_array(x.grad, gradient, dtype, "gradient")


@milestone("3.5", examples=5)
@given(case=classified())
def test_all_targets_ignored(stage, case):
    """Where no target counts, the mean is 0 / 0, so NaN, and the sum 0."""
    x, ids = case
    ids = stage.Tensor(np.full(ids.shape, -100))
    expect_array(stage.cross_entropy(stage.Tensor(x), ids).data, math.nan, x.dtype, "data of the mean")
    expect_array(stage.cross_entropy(stage.Tensor(x), ids, reduction="sum").data, 0.0, x.dtype, "data of the sum")


@milestone("3.5", examples=20)
@given(slip=cases([np.array([0, 3]), np.array([0, -1]), np.array([0.5, 1.0]), np.array([0]), np.array([[0], [1]])]))
def test_targets_that_are_no_classes(stage, slip):
    """Targets out of range, of another shape, or that are no whole numbers are an error."""
    x = stage.Tensor(np.ones((2, 3)), requires_grad=True)
    expect_raises(ERRORS, lambda: stage.cross_entropy(x, stage.Tensor(slip)), "IndexError")


@milestone("3.5", examples=20)
@given(case=classified(), factor=numbers(), weights=weights())
def test_a_loss_in_a_larger_computation(stage, case, factor, weights):
    """What is done with the loss afterwards reaches the logits, and logits may have other uses, too."""
    x, ids = case
    expect_operation(
        stage, lambda a: stage.cross_entropy(a, stage.Tensor(ids)) * factor + (a * a).sum(),
        lambda a: cross_entropy(a, ids) * factor + (a * a).sum(), [x], weights,
    )  # fmt: skip


# 3.6 Embedding


@st.composite
def looked_up(draw):
    """Ids of one or two axes out of five, repeated ones among them."""
    shape = draw(st.sampled_from([(3,), (2, 2), (4,), (1, 3)]))
    count = int(np.prod(shape))
    return np.array([draw(st.integers(0, 4)) for _ in range(count)]).reshape(shape)


@milestone("3.6", examples=50)
@given(ids=looked_up(), seed=st.integers(0, 99), weights=weights())
def test_embedding(stage, ids, seed, weights):
    """Embedding returns the row of each id; the gradients of an id that comes several times add up."""
    layer = stage.Embedding(5, 3, generator=Seed(seed))
    table = layer.weight.data
    expect_close(table.shape, (5, 3), "shape of weight")
    result = layer(stage.Tensor(ids))
    expect_array(result.data, table[ids], "float32", "data")
    upstream = spread(weights, (*ids.shape, 3), "float32")
    result.backward(upstream)
    gradient = np.zeros((5, 3))
    for place in np.ndindex(ids.shape):
        gradient[ids[place]] += upstream[place]
    expect_array(layer.weight.grad, gradient, "float32", "gradient of weight")


@milestone("3.6", examples=40)
@given(ids=looked_up(), padding=st.integers(0, 4), weights=weights())
def test_padding(stage, ids, padding, weights):
    """The row of `padding_idx` is 0 and gets the gradient 0."""
    layer = stage.Embedding(5, 2, padding_idx=padding, generator=Seed(3))
    table = layer.weight.data
    expect_array(table[padding], np.zeros(2), "float32", "the row of padding")
    result = layer(stage.Tensor(ids))
    expect_array(result.data, table[ids], "float32", "data")
    upstream = spread(weights, (*ids.shape, 2), "float32")
    result.backward(upstream)
    gradient = np.zeros((5, 2))
    for place in np.ndindex(ids.shape):
        gradient[ids[place]] += upstream[place] * (ids[place] != padding)
    expect_array(layer.weight.grad, gradient, "float32", "gradient of weight")


@milestone("3.6", examples=4)
@given(seed=st.integers(0, 99))
def test_embedding_starts_normal(stage, seed):
    """An Embedding starts with draws from N(0, 1), float32."""
    table = stage.Embedding(60, 40, generator=Seed(seed)).weight.data
    margin = 8 / math.sqrt(table.size)
    expect(abs(float(table.mean())) < margin, "is off", float(table.mean()), 0.0, "mean of weight")
    expect(abs(float(table.std()) - 1) < margin, "is off", float(table.std()), 1.0, "standard deviation of weight")
    expect(table.dtype == "float32", "is not float32", table.dtype.name, "float32", "dtype of weight")


@milestone("3.6", examples=4)
@given(top=cases([40_000, 70_000]))
def test_large_ids(stage, top):
    """Ids beyond 32,767 and 65,535 find their own rows."""
    layer = stage.Embedding(top + 1, 1, generator=Seed(1))
    result = layer(stage.Tensor(np.array([top, 0])))
    expect_array(result.data, layer.weight.data[[top, 0]], "float32", "data")


@milestone("3.6", examples=20)
@given(slip=cases([np.array([0, 5]), np.array([-1]), np.array([0.5, 1.0])]))
def test_ids_without_a_row(stage, slip):
    """Ids out of range, negative ones too, and ids that are no whole numbers are an error."""
    layer = stage.Embedding(5, 2, generator=Seed(0))
    expect_raises(ERRORS, lambda: layer(stage.Tensor(slip)), "IndexError")


# 3.7 Normalisation


def normalised(x, axes, eps):
    mean = x.mean(axis=axes, keepdims=True)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(axis=axes, keepdims=True) + eps)


HALVES = [1.0, 2.0, -0.5, 3.0, -1.5, 0.5, -2.0, 2.5, -3.0, 1.5, -1.0, -2.5]


@st.composite
def spaced(draw, rows, length):
    """Rows of numbers that are half a unit apart: float32 loses its digits in the variance of closer ones."""
    row = st.lists(st.sampled_from(HALVES), min_size=length, max_size=length, unique=True)
    return np.array([draw(row) for _ in range(rows)], "float32")


@st.composite
def to_normalise(draw):
    """An array whose last axes are to be normalised, and their lengths as Python takes them."""
    shape = draw(st.sampled_from([(3, 2), (2, 3), (2, 4), (3, 4), (2, 3, 2), (3, 2, 4), (2, 4, 3)]))
    count = draw(st.integers(1, len(shape) - 1))
    last = shape[-count:]
    array = draw(spaced(math.prod(shape[:-count]), math.prod(last))).reshape(shape)
    array = np.asfortranarray(array) if draw(st.booleans()) else array
    return array, (last[0] if count == 1 and draw(st.booleans()) else last)


def with_parameters(module, values):
    """Give the parameters of a module, ones and zeros at first, numbers that show whether they are used."""
    for name, numbers_ in values.items():
        shape = getattr(module, name).data.shape
        getattr(module, name).data = np.resize(np.array(numbers_, "float32"), shape)


@milestone("3.7", examples=50)
@given(case=to_normalise(), gamma=weights(), beta=weights(), eps=cases([None, 0.5]), weights=weights())
def test_layer_norm(stage, case, gamma, beta, eps, weights):
    """LayerNorm: over the last axes, mean 0 and variance 1 (divided by n, eps inside the root), times weight plus bias."""
    x, last = case
    module = stage.LayerNorm(last) if eps is None else stage.LayerNorm(last, eps=eps)
    with_parameters(module, {"weight": gamma, "bias": beta})
    count = 1 if isinstance(last, int) else len(last)
    axes = tuple(range(-count, 0))
    formula = lambda x, w, b: normalised(x, axes, 1e-5 if eps is None else eps) * w + b  # noqa: E731
    expect_module(stage, module, ["weight", "bias"], formula, [x], weights)


@milestone("3.7", examples=50)
@given(case=to_normalise(), gamma=weights(), eps=cases([None, 0.5]), weights=weights())
def test_rms_norm(stage, case, gamma, eps, weights):
    """RMSNorm: over the last axes, divided by the root of the mean square plus eps, times weight; no mean is taken off."""
    x, last = case
    module = stage.RMSNorm(last) if eps is None else stage.RMSNorm(last, eps=eps)
    with_parameters(module, {"weight": gamma})
    count = 1 if isinstance(last, int) else len(last)
    axes = tuple(range(-count, 0))
    formula = lambda x, w: x / np.sqrt((x * x).mean(axis=axes, keepdims=True) + (1e-6 if eps is None else eps)) * w  # noqa: E731
    expect_module(stage, module, ["weight"], formula, [x], weights)


@milestone("3.7", examples=6)
@given(name=cases(["LayerNorm", "RMSNorm"]), weights=weights())
def test_rows_of_zeros(stage, name, weights):
    """A row of zeros stays zeros, with a finite gradient: eps keeps the divisor from 0."""
    tensor = stage.Tensor(np.zeros((2, 3), "float32"), requires_grad=True)
    result = getattr(stage, name)(3)(tensor)
    expect_array(result.data, np.zeros((2, 3)), "float32", "data")
    result.backward(spread(weights, (2, 3), "float32"))
    expect(bool(np.isfinite(tensor.grad).all()), "is not finite", tensor.grad, label="gradient")


@milestone("3.7", examples=15)
@given(x=cases([0.0, 2.0, -1.5]), name=cases(["LayerNorm", "RMSNorm", "BatchNorm1d"]), weights=weights())
def test_constant_rows(stage, x, name, weights):
    """A row of equal numbers, or a channel of them, is normalised without a division by 0."""
    module = getattr(stage, name)(3)
    tensor = stage.Tensor(np.full((2, 3), x, "float32"), requires_grad=True)
    result = module(tensor)
    value = np.full((2, 3), np.sign(x)) if name == "RMSNorm" else np.zeros((2, 3))
    expect_array(result.data, value, "float32", "data")
    result.backward(spread(weights, (2, 3), "float32"))
    expect(bool(np.isfinite(tensor.grad).all()), "is not finite", tensor.grad, label="gradient")


@milestone("3.7", examples=10)
@given(name=cases(["LayerNorm", "RMSNorm"]), shape=cases([(2, 4), (3, 2), (2,), (2, 1)]))
def test_norms_need_their_features(stage, name, shape):
    """An input whose last axis has another length than the layer is a ValueError."""
    module = getattr(stage, name)(3)
    expect_raises(ERRORS, lambda: module(stage.Tensor(np.ones(shape, "float32"))), "ValueError")


@milestone("3.7", examples=5)
@given(last=cases([3, (2, 3)]))
def test_norms_start_neutral(stage, last):
    """A norm starts with weight 1 and bias 0, and lists them as parameters; RMSNorm has no bias."""
    shape = (last,) if isinstance(last, int) else last
    layer, rms, batch = stage.LayerNorm(last), stage.RMSNorm(last), stage.BatchNorm1d(3)
    expect_array(layer.weight.data, np.ones(shape), "float32", "weight")
    expect_array(layer.bias.data, np.zeros(shape), "float32", "bias")
    for module, wanted in ((layer, ["weight", "bias"]), (rms, ["weight"]), (batch, ["weight", "bias"])):
        names = [name for name, _ in module.named_parameters()]
        expect(names == wanted, "are wrong", names, wanted, "the names")


@st.composite
def batches(draw):
    """Samples (N, C) or sequences (N, C, L) with several values per channel, all different."""
    n, c, *rest = draw(st.sampled_from([(3, 2), (4, 3), (2, 3, 2), (2, 2, 3), (1, 2, 4)]))
    return draw(spaced(c, n * math.prod(rest))).reshape(c, n, *rest).swapaxes(0, 1)


def columns(array, rank):
    return np.asarray(array).reshape(-1, *[1] * (rank - 2))


@milestone("3.7", examples=50)
@given(x=batches(), gamma=weights(), beta=weights(), eps=cases([None, 0.5]), weights=weights())
def test_batch_norm_in_training(stage, x, gamma, beta, eps, weights):
    """In training, BatchNorm1d normalises every channel over the batch, and gradients pass through the statistics."""
    module = stage.BatchNorm1d(x.shape[1]) if eps is None else stage.BatchNorm1d(x.shape[1], eps=eps)
    with_parameters(module, {"weight": gamma, "bias": beta})
    axes = (0, 2)[: x.ndim - 1]
    formula = lambda x, w, b: (  # noqa: E731
        normalised(x, axes, 1e-5 if eps is None else eps) * columns(w, x.ndim) + columns(b, x.ndim)
    )
    expect_module(stage, module, ["weight", "bias"], formula, [x], weights)


@milestone("3.7", examples=30)
@given(x=batches(), momentum=cases([None, 0.5]), times=st.integers(1, 2))
def test_running_statistics(stage, x, momentum, times):
    """Running averages move by `momentum` towards the batch's mean and its variance, the latter over n - 1."""
    module = stage.BatchNorm1d(x.shape[1]) if momentum is None else stage.BatchNorm1d(x.shape[1], momentum=momentum)
    share = 0.1 if momentum is None else momentum
    axes = (0, 2)[: x.ndim - 1]
    mean, var = np.zeros(x.shape[1]), np.ones(x.shape[1])
    for _ in range(times):
        module(stage.Tensor(x))
        mean = (1 - share) * mean + share * x.mean(axis=axes)
        var = (1 - share) * var + share * x.var(axis=axes, ddof=1)
    expect_array(module.running_mean.data, mean, "float32", "running_mean")
    expect_array(module.running_var.data, var, "float32", "running_var")
    expect_close(float(module.num_batches_tracked.data), times, "num_batches_tracked")


@milestone("3.7", examples=30)
@given(x=batches(), gamma=weights(), beta=weights(), mean=weights(), var=weights(), weights=weights())
def test_batch_norm_in_evaluation(stage, x, gamma, beta, mean, var, weights):
    """In evaluation, BatchNorm1d uses the running averages, constants for the gradient, and leaves them alone."""
    channels = x.shape[1]
    module = stage.BatchNorm1d(channels)
    with_parameters(module, {"weight": gamma, "bias": beta, "running_mean": mean, "running_var": np.abs(np.array(var))})
    known_mean, known_var = module.running_mean.data, module.running_var.data
    module.eval()
    formula = lambda x, w, b: (  # noqa: E731
        (x - columns(known_mean, x.ndim)) / np.sqrt(columns(known_var, x.ndim) + 1e-5) * columns(w, x.ndim) + columns(b, x.ndim)
    )
    expect_module(stage, module, ["weight", "bias"], formula, [x], weights)
    expect_array(module.running_mean.data, known_mean, "float32", "running_mean afterwards")


@milestone("3.7", examples=5)
@given(channels=st.integers(2, 3))
def test_running_statistics_are_saved(stage, channels):
    """The running averages are buffers: saved with the module, and no parameters."""
    names = [name for name, _ in stage.BatchNorm1d(channels).named_buffers()]
    expect(names[:2] == ["running_mean", "running_var"], "are wrong", names, ["running_mean", "running_var"], "the buffers")


@milestone("3.7", examples=5)
@given(channels=st.integers(2, 3))
def test_one_value_has_no_variance(stage, channels):
    """In training, a batch with one value per channel is a ValueError."""
    module = stage.BatchNorm1d(channels)
    expect_raises(ERRORS, lambda: module(stage.Tensor(np.ones((1, channels), "float32"))), "ValueError")


# 3.8 Dropout

P = cases([0.2, 0.5, 0.75])


@milestone("3.8", examples=20)
@given(p=P, seed=st.integers(0, 99))
def test_dropout(stage, p, seed):
    """In training, an element is 0 with probability p, and else divided by 1 - p."""
    module = stage.Dropout(p, generator=Seed(seed))
    x = np.linspace(1.0, 2.0, 2000, dtype="float32").reshape(40, 50)
    tensor = stage.Tensor(x)
    got = module(tensor).data
    expect_array(tensor.data, x, "float32", "data of the input afterwards")
    dropped = got == 0
    share = float(dropped.mean())
    margin = 6 * math.sqrt(p * (1 - p) / x.size)
    expect(abs(share - p) < margin, "is off", share, p, "the share of zeros")
    expect_array(got[~dropped], x[~dropped] / (1 - p), "float32", "data of what is kept")


@milestone("3.8", examples=20)
@given(p=P, seed=st.integers(0, 99), weights=weights())
def test_dropout_backward(stage, p, seed, weights):
    """The gradient passes where the element passed, with the same factor, and is 0 elsewhere."""
    module = stage.Dropout(p, generator=Seed(seed))
    x = stage.Tensor(np.ones((3, 4), "float32"), requires_grad=True)
    result = module(x)
    upstream = spread(weights, (3, 4), "float32")
    kept = result.data
    result.backward(upstream)
    expect_array(x.grad, upstream * kept, "float32", "gradient")


@milestone("3.8", examples=10)
@given(p=P, array=arrays((2, 3)))
def test_dropout_in_evaluation(stage, p, array):
    """In evaluation, dropout changes nothing."""
    module = stage.Dropout(p, generator=Seed(0))
    module.eval()
    expect_array(module(stage.Tensor(array)).data, array, "float32", "data")


@milestone("3.8", examples=10)
@given(array=arrays((2, 3)), p=cases([0.0, 1.0]))
def test_dropout_of_none_and_of_all(stage, array, p):
    """With p = 0 nothing is dropped, with p = 1 everything is, without a division by 0."""
    module = stage.Dropout(p, generator=Seed(0))
    expect_array(module(stage.Tensor(array)).data, array * (1 - p), "float32", "data")


@milestone("3.8", examples=10)
@given(seed=st.integers(0, 99))
def test_dropout_draws_anew(stage, seed):
    """Every call draws another mask; two modules with generators of one seed draw the same ones."""
    x = stage.Tensor(np.ones((6, 6), "float32"))
    one, other = stage.Dropout(0.5, generator=Seed(seed)), stage.Dropout(0.5, generator=Seed(seed))
    first, second = one(x).data, one(x).data
    expect(not np.array_equal(first, second), "is the same for two calls", label="the mask")
    expect_close(other(x).data, first, "data of a module with the same seed")


@milestone("3.8", examples=10)
@given(p=P, training=st.booleans(), array=arrays((2, 3)))
def test_dropout_as_a_function(stage, p, training, array):
    """The function takes p and whether to train."""
    got = stage.dropout(stage.Tensor(array), p, training, generator=Seed(1)).data
    if not training:
        expect_array(got, array, "float32", "data")
        return
    expect_array(got[got != 0], (array / (1 - p))[got != 0], "float32", "data of what is kept")


@milestone("3.8", examples=10)
@given(p=cases([-0.1, 1.5, 2.0]))
def test_probabilities(stage, p):
    """A p outside [0, 1] is a ValueError, of the module and of the function."""
    expect_raises(ERRORS, lambda: stage.dropout(stage.Tensor([1.0]), p, True, generator=Seed(0)), "ValueError")
    expect_raises(ERRORS, lambda: stage.Dropout(p, generator=Seed(0))(stage.Tensor([1.0])), "ValueError")


@milestone("3.8", examples=5)
@given(p=P)
def test_dropout_has_no_parameters(stage, p):
    """Dropout trains nothing, and starts in training."""
    module = stage.Dropout(p, generator=Seed(0))
    expect_close(len(list(module.parameters())), 0, "the number of parameters")
    expect_is(module.training, True, "is not True at first", "training")
