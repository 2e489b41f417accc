"""Gradients are Tensors: the way back is written in the operations of the way forth.

A result holds, per operand, a rule: from the Tensor d(loss)/d(result) to the Tensor
d(loss)/d(operand). The pass takes results by age, the youngest first; what it computes is recorded
only if it is asked to, and can then be differentiated again (`gradients`).
"""

import heapq
import itertools
import math
from functools import reduce

import numpy as np

from .shapes import numbers_in, split_axes, unbroadcast

AGES = itertools.count()


class recording:
    """Within it, operations are recorded, or are not."""

    now = True

    def __init__(self, wanted):
        self.wanted = wanted

    def __enter__(self):
        self.before, recording.now = recording.now, recording.now and self.wanted

    def __exit__(self, *exception):
        recording.now = self.before


class no_grad(recording):
    def __init__(self):
        super().__init__(False)


class Origin:
    """Where a result came from: pairs of an operand and a rule; None once they are spent."""

    __slots__ = ("age", "links")

    def __init__(self, links):
        self.age, self.links = next(AGES), links


class Tensor:
    __array_ufunc__ = None
    __slots__ = ("_origin", "_wants", "data", "grad")
    __hash__ = object.__hash__

    def __init__(self, data, requires_grad=False, dtype=None):
        values = np.array(data, copy=True)
        if values.dtype.kind not in "biuf":
            raise TypeError(f"numbers are needed, not {values.dtype}")
        if dtype is not None:
            values = values.astype(dtype)
        elif values.dtype.kind != "b" and not isinstance(data, np.ndarray):
            values = values.astype(np.float32)
        self.data, self.grad, self._origin, self._wants = values, None, None, requires_grad
        if requires_grad and not self._floats:
            raise TypeError("a gradient of whole numbers")

    _floats = property(lambda self: self.data.dtype.kind == "f")
    requires_grad = property(lambda self: self._wants)
    is_leaf = property(lambda self: self._origin is None)
    shape = property(lambda self: self.data.shape)
    dtype = property(lambda self: self.data.dtype)
    ndim = property(lambda self: self.data.ndim)
    size = property(lambda self: self.data.size)
    T = property(lambda self: self.permute(tuple(range(self.ndim))[::-1]))

    def __repr__(self):
        return f"Tensor({self.data!r})"

    def __len__(self):
        return len(self.data)

    def __bool__(self):
        return bool(self.item())

    def item(self):
        (number,) = self.data.ravel().tolist()
        return number

    def numpy(self):
        if self._wants:
            raise ValueError("a gradient would be lost")
        return self.data

    def detach(self):
        return recorded(self.data)

    def astype(self, dtype):
        before = self.dtype
        return recorded(self.data.astype(dtype), (self, lambda g: g.astype(before)))

    def backward(self, gradient=None, retain_graph=False):
        for leaf, found in differentiated(self, gradient, retain_graph, again=False):
            leaf.grad = found.data.copy() if leaf.grad is None else np.add(leaf.grad, found.data)

    # Arithmetic

    def __add__(self, other):
        a, b = alike(self, other)
        return recorded(a.data + b.data, (a, lambda g: g), (b, lambda g: g))

    def __neg__(self):
        return recorded(-self.data, (self, lambda g: -g))

    def __sub__(self, other):
        a, b = alike(self, other)
        return recorded(a.data - b.data, (a, lambda g: g), (b, lambda g: -g))

    def __mul__(self, other):
        a, b = alike(self, other)
        return recorded(a.data * b.data, (a, lambda g: g * b), (b, lambda g: g * a))

    def __truediv__(self, other):
        a, b = map(floats, alike(self, other))
        with np.errstate(all="ignore"):
            out = a.data / b.data
        return recorded(out, (a, lambda g: g / b), (b, lambda g: g / b * (-a / b)))

    def __pow__(self, other):
        a, b = alike(self, other)
        if not a._floats and (b.data < 0).any():
            a, b = floats(a), floats(b)
        with np.errstate(all="ignore"):
            out = a.data**b.data

        def in_base(g):
            flat = b == 0
            return g * where(flat, 0, b * a ** where(flat, 1, b - 1))

        def in_exponent(g):
            return where((a == 0) & (b >= 0), 0, g * a**b * a.log())

        return recorded(out, (a, in_base), (b, in_exponent))

    def __radd__(self, other):
        return self + other

    def __rmul__(self, other):
        return self * other

    def __rsub__(self, other):
        a, b = alike(other, self)
        return a - b

    def __rtruediv__(self, other):
        a, b = alike(other, self)
        return a / b

    def __rpow__(self, other):
        a, b = alike(other, self)
        return a**b

    # Reductions

    def sum(self, axis=None, keepdims=False):
        """Sum over one axis after another, the last first."""
        _, gone = split_axes(axis, self.ndim)
        shape, short = self.shape, [1 if i in gone else n for i, n in enumerate(self.shape)]
        out = self.data
        for number in reversed(gone):
            out = np.add.reduce(out, axis=number)
        out = recorded(out, (self, lambda g: g.reshape(*short).expand(*shape)))
        return out.reshape(*short) if keepdims else out

    def mean(self, axis=None, keepdims=False):
        share = np.divide(1, self.count(axis)) if self.count(axis) else math.nan
        return floats(self).sum(axis, keepdims) * share

    def count(self, axis):
        return math.prod(self.shape[i] for i in split_axes(axis, self.ndim)[1])

    def var(self, axis=None, keepdims=False, correction=1):
        """Any centre will do in (sum of d^2 - (sum of d)^2 / n): here the mean, held fixed."""
        d, n = floats(self), self.count(axis)
        d = d - d.detach().mean(axis, keepdims=True)
        squares, whole = (d * d).sum(axis, keepdims), d.sum(axis, keepdims)
        return (squares - whole * whole / n) / max(n - correction, 0)

    def std(self, axis=None, keepdims=False, correction=1):
        variance = self.var(axis, keepdims, correction)
        none = variance == 0
        return where(none, 0, where(none, 1, variance).sqrt())

    def max(self, axis=None, keepdims=False):
        return extreme(self, np.maximum, axis, keepdims)

    def min(self, axis=None, keepdims=False):
        return extreme(self, np.minimum, axis, keepdims)

    def argmax(self, axis=None):
        order = np.argsort(self.data, axis, kind="stable")
        return recorded(order.take(-1, axis))

    # Matrices

    def __matmul__(self, other):
        a, b = alike(self, other)
        if not a.ndim or not b.ndim or a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
            raise ValueError(f"no product of {a.shape} and {b.shape}")
        if b.ndim == 1:
            return (a * b).sum(-1)
        if a.ndim == 1:
            return (a.unsqueeze(1) * b).sum(-2)
        out = np.einsum("...ij,...jk->...ik", a.data, b.data)
        return recorded(out, (a, lambda g: g @ b.transpose()), (b, lambda g: a.transpose() @ g))

    def __rmatmul__(self, other):
        a, b = alike(other, self)
        return a @ b

    # Shapes

    def reshape(self, *shape):
        before = self.shape
        return recorded(self.data.reshape(numbers_in(shape)), (self, lambda g: g.reshape(before)))

    def permute(self, *order):
        order = numbers_in(order)
        stays, _ = split_axes(order, self.ndim)
        if stays:
            raise ValueError(f"axes {stays} have no place")
        back = sorted(range(self.ndim), key=lambda i: order[i] % self.ndim)
        return recorded(self.data.transpose(order), (self, lambda g: g.permute(*back)))

    def transpose(self, first=-2, second=-1):
        order = np.arange(self.ndim)
        order[[first, second]] = order[[second, first]]
        return self.permute(*order)

    swapaxes = transpose

    def expand(self, *shape):
        return recorded(np.broadcast_to(self.data, numbers_in(shape)), (self, lambda g: g))

    def flip(self, axis=None):
        _, turned = split_axes(axis, self.ndim)
        index = tuple(slice(None, None, -1 if i in turned else None) for i in range(self.ndim))
        return recorded(self.data[index], (self, lambda g: g.flip(tuple(turned))))

    def pad(self, widths, value=0.0):
        if len(widths) != self.ndim:
            raise ValueError(f"{self.ndim} axes, {len(widths)} widths")
        out = np.pad(self.data, widths, constant_values=value)
        index = tuple(slice(low, low + n) for (low, _), n in zip(widths, self.shape))
        return recorded(out, (self, lambda g: g[index]))

    def squeeze(self, axis=None):
        _, named = split_axes(axis, self.ndim)
        return self.reshape([n for i, n in enumerate(self.shape) if i not in named or n > 1 or n == 0])

    def unsqueeze(self, axis):
        _, (axis,) = split_axes(axis, self.ndim + 1)
        shape = list(self.shape)
        shape.insert(axis, 1)
        return self.reshape(shape)

    def flatten(self, start=0, end=-1):
        (_, (start,)), (_, (end,)) = split_axes(start, self.ndim), split_axes(end, self.ndim)
        middle = self.shape[start : end + 1]
        return self.reshape([*self.shape[:start], math.prod(middle), *self.shape[end + 1 :]])

    # Indices

    def __getitem__(self, index):
        index = tuple(map(bare, index)) if isinstance(index, tuple) else bare(index)
        shape = self.shape
        return recorded(self.data[index], (self, lambda g: put_back(g, index, shape)))

    def split(self, sizes, axis=0):
        _, (axis,) = split_axes(axis, self.ndim)
        if sum(sizes) != self.shape[axis]:
            raise ValueError(f"{self.shape[axis]} is not the sum of {sizes}")
        ends = list(itertools.accumulate(sizes))
        return [self[(slice(None),) * axis + (slice(e - n, e),)] for n, e in zip(sizes, ends)]

    def gather(self, axis, index):
        _, (axis,) = split_axes(axis, self.ndim)
        index = bare(index)
        if [*index.shape[:axis], *index.shape[axis + 1 :]] != [*self.shape[:axis], *self.shape[axis + 1 :]]:
            raise ValueError(f"{index.shape} does not fit {self.shape}")
        places = list(np.indices(index.shape, sparse=True))
        places[axis] = index
        return self[tuple(places)]

    # Functions

    def exp(self):
        return function(np.exp, self, lambda g: g * self.exp())

    def log(self):
        return function(np.log, self, lambda g: g / self)

    def sqrt(self):
        return function(np.sqrt, self, lambda g: g * 0.5 / self.sqrt())

    def sin(self):
        return function(np.sin, self, lambda g: g * self.cos())

    def cos(self):
        return function(np.cos, self, lambda g: -(g * self.sin()))

    def tanh(self):
        return function(np.tanh, self, lambda g: g - g * self.tanh() ** 2)

    def sigmoid(self):
        return function(
            lambda x: np.exp(-np.logaddexp(0, -x)), self, lambda g: g * self.sigmoid() * (-self).sigmoid()
        )

    def relu(self):
        return function(lambda x: np.maximum(x, 0), self, lambda g: where(self > 0, g, 0))

    def abs(self):
        """At 0, the halves of +1 and -1 make 0."""
        return self.maximum(-self)

    def maximum(self, other):
        a, b = alike(self, other)
        return recorded(np.maximum(a.data, b.data), (a, larger(a, b)), (b, larger(b, a)))

    def minimum(self, other):
        a, b = alike(self, other)
        return recorded(np.minimum(a.data, b.data), (a, larger(b, a)), (b, larger(a, b)))

    def clip(self, low=None, high=None):
        low, high = (-math.inf if low is None else low), (math.inf if high is None else high)
        return function(
            lambda x: np.where(x < low, low, np.where(x > high, high, x)).astype(x.dtype),
            self,
            lambda g: where((self >= low) & (self <= high), g, 0),
        )

    def masked_fill(self, mask, value):
        return where(mask, value, self)

    def __eq__(self, other):
        return truth(np.equal, self, other)

    def __ne__(self, other):
        return truth(np.not_equal, self, other)

    def __lt__(self, other):
        return truth(np.less, self, other)

    def __le__(self, other):
        return truth(np.less_equal, self, other)

    def __gt__(self, other):
        return truth(np.greater, self, other)

    def __ge__(self, other):
        return truth(np.greater_equal, self, other)

    def __and__(self, other):
        return truth(np.bitwise_and, self, other)

    def __or__(self, other):
        return truth(np.bitwise_or, self, other)

    def __invert__(self):
        return recorded(np.invert(self.data))


def where(condition, a, b):
    chosen = bare(condition)
    a, b = alike(a, b)
    out = np.where(chosen, a.data, b.data)
    return recorded(out, (a, lambda g: where(chosen, g, 0)), (b, lambda g: where(chosen, 0, g)))


def concat(tensors, axis=0):
    parts = list(map(as_tensor, tensors))
    _, (axis,) = split_axes(axis, parts[0].ndim)
    out = np.concatenate([x.data for x in parts], axis)
    links, start = [], 0
    for x in parts:
        index = (slice(None),) * axis + (slice(start, start + x.shape[axis]),)
        links.append((x, lambda g, index=index: g[index]))
        start += x.shape[axis]
    return recorded(out, *links)


def stack(tensors, axis=0):
    return concat([as_tensor(x).unsqueeze(axis) for x in tensors], axis)


def put_back(g, index, shape):
    """Add the elements of g to zeros at the places that `index` chooses."""
    places = np.arange(math.prod(shape)).reshape(shape)[index]
    sums = np.bincount(np.ravel(places), np.ravel(g.data), math.prod(shape))
    return recorded(sums.reshape(shape).astype(g.dtype), (g, lambda h: h[index]))


def extreme(x, better, axis, keepdims):
    """Put the axes that go at the end, make them one, and compare along it."""
    stays, gone = split_axes(axis, x.ndim)
    shape = [x.shape[i] for i in stays]
    rows = x.permute(*stays, *gone).reshape(*shape, math.prod(x.shape[i] for i in gone))
    out = reduce(better, np.moveaxis(rows.data, -1, 0))
    best = rows.data == np.expand_dims(out, -1)
    share = best / best.sum(-1, keepdims=True)
    out = recorded(out, (rows, lambda g: where(best, g.unsqueeze(-1) * share.astype(g.dtype), 0)))
    return out.reshape([1 if i in gone else n for i, n in enumerate(x.shape)]) if keepdims else out


def larger(a, b):
    """Return the rule for a in max(a, b)."""
    return lambda g: where(a > b, g, where(a == b, g * 0.5, 0))


def function(of, x, rule):
    with np.errstate(all="ignore"):
        return recorded(of(x.data), (x, rule))


def truth(of, a, b):
    a, b = alike(a, b)
    return recorded(of(a.data, b.data))


# The way back


def recorded(data, *links):
    """Return a Tensor of this array, with the links to operands that want a gradient."""
    out = Tensor.__new__(Tensor)
    out.data, out.grad, out._origin = np.asarray(data), None, None
    links = [link for link in links if link[0]._wants] if recording.now and out._floats else []
    out._wants = bool(links)
    if links:
        out._origin = Origin(links)
    return out


def differentiated(root, start, keep, again):
    """Return pairs of a leaf and its gradient, a Tensor, recorded where it is wanted `again`."""
    if not root._wants:
        raise ValueError("no gradient leads anywhere from here")
    if start is None and root.size != 1:
        raise ValueError("which of several elements?")
    start = recorded(np.array(1 if start is None else bare(start), root.dtype))
    if start.size == 1 == root.size and start.ndim == 0:
        start = recorded(start.data.reshape(root.shape))
    if start.shape != root.shape:
        raise ValueError(f"{start.shape} is not {root.shape}")
    refuse_what_is_spent(root)
    leaves, arrived, queue = {}, {}, []

    def arrive(x, g):
        origin = x._origin
        if origin is None:
            leaves[id(x)] = x, (leaves[id(x)][1] + g if id(x) in leaves else g)
        elif origin in arrived:
            arrived[origin] = arrived[origin] + g
        else:
            arrived[origin] = g
            heapq.heappush(queue, (-origin.age, origin))

    with recording(again), np.errstate(all="ignore"):
        arrive(root, start)
        while queue:
            origin = heapq.heappop(queue)[1]
            g = arrived.pop(origin)
            for x, rule in origin.links:
                part = rule(g)
                arrive(x, part if part.shape == x.shape else fitted(part, x.shape))
            if not keep:
                origin.links = None
            x = rule = part = g = None
    return list(leaves.values())


def fitted(g, shape):
    long = g.shape
    return recorded(unbroadcast(g.data, shape), (g, lambda h: h.expand(*long)))


def refuse_what_is_spent(root):
    seen, stack = set(), [root._origin]
    while stack:
        origin = stack.pop()
        if origin is None or origin in seen:
            continue
        if origin.links is None:
            raise ValueError("an earlier pass has spent this graph")
        seen.add(origin)
        stack += [x._origin for x, _ in origin.links]


def gradients(output, inputs):
    """Return d(output)/d(input) as Tensors that can be differentiated; the graph is kept."""
    found = {id(leaf): g for leaf, g in differentiated(output, None, True, again=True)}
    return [found[id(x)] if id(x) in found else x.detach() * 0 for x in inputs]


# Operands


def bare(x):
    """Return what numpy takes for x."""
    return x.data if isinstance(x, Tensor) else np.asarray(x) if isinstance(x, list) else x


def as_tensor(x):
    return x if isinstance(x, Tensor) else recorded(x) if isinstance(x, np.ndarray) else Tensor(x)


def floats(x):
    return x if x._floats else x.astype(np.float32)


def alike(a, b):
    """Return a and b as Tensors of one dtype."""
    dtype = common_dtype(a, b)
    pair = []
    for x in (a, b):
        if isinstance(x, int | float | np.generic):
            x = recorded(np.array(x, dtype))
        x = as_tensor(x)
        pair.append(x if x.dtype == dtype else x.astype(dtype))
    return pair


def common_dtype(a, b):
    """A number is only as strong as its kind; a tensor without axes as well, beside one with axes."""
    plain = [isinstance(x, int | float | np.generic) for x in (a, b)]
    if all(plain):
        return np.dtype(np.float32)
    if any(plain):
        number, x = (a, b) if plain[0] else (b, as_tensor(a))
        kind = 2 if isinstance(number, float | np.floating) else 0 if isinstance(number, bool | np.bool_) else 1
        standard = (np.bool_, np.int64, np.float32)[kind]
        x = as_tensor(x)
        return x.dtype if kind <= kind_of(x) else np.dtype(standard)
    a, b = as_tensor(a), as_tensor(b)
    if kind_of(a) != kind_of(b):
        return (a if kind_of(a) > kind_of(b) else b).dtype
    if (a.ndim > 0) != (b.ndim > 0):
        return (a if a.ndim else b).dtype
    return np.promote_types(a.dtype, b.dtype)


def kind_of(x):
    return {"b": 0, "i": 1, "u": 1, "f": 2}[x.dtype.kind]
