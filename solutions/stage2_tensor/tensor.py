"""Reverse-mode automatic differentiation on arrays.

Every operation computes an array and, where a gradient is wanted, writes down its
operands and a gradient function: given g = d(loss)/d(result), it answers with
d(loss)/d(operand) for each operand, or None. What all of them share happens once,
in `Tensor.backward`: order, adding up, un-broadcasting, freeing.

A gradient function holds arrays of its operands, never its own result as a Tensor
(that would be a cycle), and never writes into the array g.
"""

import math
from contextlib import contextmanager

import numpy as np

from solutions.stage1_autodiff.autodiff import topological_order

from .shapes import axes_of, chooses_once, flat_rows, unbroadcast, unpacked, with_axes

recording = True  # False inside `no_grad`


class Tensor:
    """An array that remembers how it was computed.

    Attributes:
        data: the numpy array.
        requires_grad: whether gradients reach this tensor; a computed one
            requires them if one of its operands does.
        grad: d(loss)/d(this tensor), an array like `data`, on leaves that
            require it; None until a loss calls `backward`.
        parents: the Tensors it was computed from; () for a leaf.
        gradient: maps d(loss)/d(self) to one array, or None, per parent, in
            their order; None for a leaf.
    """

    # No other attributes: nodes are smaller so. An attribute of your own goes in here.
    __slots__ = ("data", "grad", "gradient", "parents", "requires_grad")
    __array_ufunc__ = None  # so that `array * tensor` asks the tensor
    __hash__ = object.__hash__  # a tensor is itself, whatever it is equal to

    def __init__(self, data, requires_grad=False, dtype=None):
        """Hold a copy of `data`: numbers, nested lists of them, or an array.

        Arrays keep their dtype, True and False are bool, other numbers become
        float32; `dtype` overrides. TypeError for what is not made of numbers,
        and for requires_grad with a dtype that is not floating.
        """
        array = np.array(data, dtype=dtype)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"a Tensor holds numbers, not {array.dtype}")
        if dtype is None and array.dtype.kind != "b" and not isinstance(data, np.ndarray):
            array = array.astype(np.float32)
        if requires_grad and array.dtype.kind != "f":
            raise TypeError(f"a gradient needs floating numbers, not {array.dtype}")
        self.data, self.requires_grad, self.grad = array, requires_grad, None
        self.parents, self.gradient = (), None

    shape = property(lambda self: self.data.shape)
    ndim = property(lambda self: self.data.ndim)
    size = property(lambda self: self.data.size)
    dtype = property(lambda self: self.data.dtype)
    is_leaf = property(lambda self: self.gradient is None)

    def __repr__(self):
        flag = ", requires_grad=True" if self.requires_grad else ""
        return f"Tensor({self.data.tolist()}, dtype={self.dtype}{flag})"

    def __len__(self):
        return len(self.data)

    def __bool__(self):
        return bool(self.item())

    def item(self):
        """Return the only element as a Python number; ValueError if there are more, or none."""
        if self.size != 1:
            raise ValueError(f"item() needs one element, not shape {self.shape}")
        return self.data.item()

    def numpy(self):
        """Return the array; TypeError where a gradient is required."""
        if self.requires_grad:
            raise TypeError("this tensor requires a gradient: use detach().numpy()")
        return self.data

    def detach(self):
        """Return a Tensor of the same array that no gradient reaches."""
        return record(self.data, (), None)

    def astype(self, dtype):
        """Return self in another dtype; the gradient comes back in self's own."""
        own = self.dtype
        return record(self.data.astype(dtype), (self,), lambda g: (g.astype(own),))

    def backward(self, gradient=None, retain_graph=False):
        """Add d(self)/d(leaf) to the `grad` of every leaf that requires it.

        `gradient` is d(loss)/d(self), of self's shape; it may be left out
        where self has one element, and is 1 then. The graph is freed on the
        way, so a second pass raises ValueError, unless `retain_graph`.
        ValueError, too, where self requires no gradient or shapes disagree.
        """
        if not self.requires_grad:
            raise ValueError("backward needs a result that depends on a tensor with requires_grad")
        if gradient is None and self.size != 1:
            raise ValueError(f"backward from shape {self.shape} needs a gradient of that shape")
        g = np.ones_like(self.data) if gradient is None else array_of(gradient, self.dtype)
        if g.shape != self.shape:
            raise ValueError(f"the gradient has shape {g.shape}, the tensor {self.shape}")
        order = topological_order(self)
        if any(node.gradient is freed for node in order):
            raise ValueError("this graph was freed by an earlier backward: use retain_graph=True")
        arrived = {id(self): g}
        with np.errstate(all="ignore"):
            while order:  # from the result to the leaves; a node that is done is let go
                node = order.pop()
                g = arrived.pop(id(node), None)
                if g is None:
                    continue
                if node.gradient is None:
                    node.grad = g.copy() if node.grad is None else node.grad + g
                    continue
                for parent, part in zip(node.parents, node.gradient(g)):
                    if part is not None and parent.requires_grad:
                        if part.shape != parent.shape:
                            part = unbroadcast(part, parent.shape)
                        known = arrived.get(id(parent))
                        arrived[id(parent)] = part if known is None else known + part
                if not retain_graph:
                    node.parents, node.gradient = (), freed

    # Arithmetic, element by element. The other operand is a Tensor, an array or a number.

    def __add__(self, other):
        """Return self + other."""
        a, b = operands(self, other)
        return record(a.data + b.data, (a, b), lambda g: (g, g))

    def __sub__(self, other):
        """Return self - other."""
        a, b = operands(self, other)
        return record(a.data - b.data, (a, b), lambda g: (g, -g))

    def __mul__(self, other):
        """Return self * other."""
        a, b = operands(self, other)
        return record(a.data * b.data, (a, b), lambda g: (g * b.data, g * a.data))

    @np.errstate(all="ignore")
    def __truediv__(self, other):
        """Return self / other; whole numbers give float32."""
        a, b = map(floating, operands(self, other))

        def gradient(g):
            in_a = g / b.data
            return in_a, -in_a * (a.data / b.data) if b.requires_grad else None

        return record(a.data / b.data, (a, b), gradient)

    @np.errstate(all="ignore")
    def __pow__(self, exponent):
        """Return self ** exponent.

        x ** 0 is 1 with the slope 0, at 0 too. A negative power of whole
        numbers is float32. Where a Tensor is the exponent, its gradient is 0 at
        base 0 and NaN at a negative base.
        """
        a, b = operands(self, exponent)
        if a.dtype.kind != "f" and (b.data < 0).any():
            a, b = floating(a), floating(b)
        x, n = a.data, exponent if type(exponent) in (int, float) else b.data
        out = x**n  # numpy squares faster where n is a plain number of Python's

        def gradient(g):
            in_x = g * (n * x ** (n - (n != 0)))  # 0 * x ** 0 where n is 0
            return in_x, g * (out * np.log(np.where(x == 0, 1, x))) if b.requires_grad else None

        return record(out, (a, b), gradient)

    def __neg__(self):
        """Return -self."""
        return record(-self.data, (self,), lambda g: (-g,))

    def __radd__(self, other):
        return self + other

    def __rmul__(self, other):
        return self * other

    def __rsub__(self, other):
        return Tensor.__sub__(*operands(other, self))

    def __rtruediv__(self, other):
        return Tensor.__truediv__(*operands(other, self))

    def __rpow__(self, other):
        return Tensor.__pow__(*operands(other, self))

    def __rmatmul__(self, other):
        return as_tensor(other) @ self

    # Reductions: `axis` is None for all axes, a number, or a tuple; negative ones count from the
    # end. With `keepdims`, reduced axes stay in place with length 1.

    def sum(self, axis=None, keepdims=False):
        """Return the sum over `axis`."""
        axes, shape = axes_of(axis, self.ndim), self.shape
        out = self.data.sum(axis=axes, keepdims=keepdims)
        return record(out, (self,), lambda g: (np.broadcast_to(with_axes(g, axes, shape), shape),))

    def mean(self, axis=None, keepdims=False):
        """Return the mean over `axis`; of whole numbers, in float32."""
        return floating(self).sum(axis, keepdims) / count_of(self, axis)

    def max(self, axis=None, keepdims=False):
        """Return the largest element over `axis`; equal ones share the gradient evenly."""
        return extreme(self, np.max, axis, keepdims)

    def min(self, axis=None, keepdims=False):
        """Return the smallest element over `axis`; equal ones share the gradient evenly."""
        return extreme(self, np.min, axis, keepdims)

    def argmax(self, axis=None):
        """Return where the largest element stands: along `axis`, or flattened; of equals, any."""
        return record(np.argmax(self.data, axis), (), None)

    def var(self, axis=None, keepdims=False, correction=1):
        """Return the variance over `axis`: squares about the mean, over (n - correction)."""
        squares = (self - self.mean(axis, keepdims=True)) ** 2
        return squares.sum(axis, keepdims) / max(count_of(self, axis) - correction, 0)

    @np.errstate(all="ignore")
    def std(self, axis=None, keepdims=False, correction=1):
        """Return the square root of `var`; where all elements are equal, the gradient is 0."""
        x, axes = floating(self).data, axes_of(axis, self.ndim)
        n = max(count_of(self, axis) - correction, 0)
        centred = x - x.mean(axis=axes, keepdims=True)
        out = np.sqrt(np.square(centred).sum(axis=axes, keepdims=True) / n)

        def gradient(g):
            slope = centred / (n * np.where(out == 0, 1, out))  # there, centred is 0 as well
            return (with_axes(g, axes, x.shape) * slope,)

        return record(out if keepdims else out.squeeze(axes), (floating(self),), gradient)

    # Matrices and shapes

    def __matmul__(self, other):
        """Return the matrix product over the last two axes; the axes before them are broadcast.

        A vector counts as one row on the left and as one column on the right,
        and that axis is left out of the result. ValueError for operands of rank
        0, and where the inner lengths differ.
        """
        a, b = operands(self, other)
        if a.ndim == 0 or b.ndim == 0 or a.shape[-1] != b.shape[-min(b.ndim, 2)]:
            raise ValueError(f"cannot multiply matrices of shapes {a.shape} and {b.shape}")
        if b.ndim == 1:
            return (a @ b.unsqueeze(1)).squeeze(-1)
        if a.ndim == 1:
            return (a.unsqueeze(0) @ b).squeeze(-2)
        if a.ndim > 2 and b.ndim == 2:  # one large product is twice as fast as many small ones
            rows = a.reshape(math.prod(a.shape[:-1]), a.shape[-1])
            return (rows @ b).reshape(*a.shape[:-1], b.shape[-1])

        def gradient(g):
            in_a = g @ b.data.swapaxes(-1, -2) if a.requires_grad else None  # data and frozen
            in_b = a.data.swapaxes(-1, -2) @ g if b.requires_grad else None  # weights need none
            return in_a, in_b

        return record(a.data @ b.data, (a, b), gradient)

    def reshape(self, *shape):
        """Return the same elements in the same order as `shape`; a length -1 is worked out."""
        own = self.shape
        return record(self.data.reshape(*shape), (self,), lambda g: (g.reshape(own),))

    def permute(self, *order):
        """Return self with its axes in another order: axis i of the result is order[i] of self."""
        order = axes_of(unpacked(order), self.ndim)
        if len(order) != self.ndim:
            raise ValueError(f"permute needs each of {self.ndim} axes, got {order}")
        back = np.argsort(order)
        return record(self.data.transpose(order), (self,), lambda g: (g.transpose(back),))

    def expand(self, *shape):
        """Return self repeated to `shape`: along axes of length 1 and along new leading axes."""
        out = np.broadcast_to(self.data, unpacked(shape))
        return record(out, (self,), lambda g: (g,))  # `backward` sums it, as after any broadcasting

    def flip(self, axis=None):
        """Return self in reverse order along `axis`: None for all, a number, or a tuple."""
        axes = axes_of(axis, self.ndim)
        return record(np.flip(self.data, axes), (self,), lambda g: (np.flip(g, axes),))

    def pad(self, widths, value=0.0):
        """Return self with `value` around it; `widths` holds (before, after) for every axis."""
        if len(widths) != self.ndim:
            raise ValueError(f"pad needs (before, after) for {self.ndim} axes, got {widths}")
        inside = tuple(slice(low, low + n) for (low, _), n in zip(widths, self.shape))
        out = np.pad(self.data, widths, constant_values=value)
        return record(out, (self,), lambda g: (g[inside],))

    def transpose(self, first=-2, second=-1):
        """Return self with two axes exchanged."""
        order = list(range(self.ndim))
        order[first], order[second] = order[second], order[first]
        return self.permute(order)

    swapaxes = transpose
    T = property(lambda self: self.permute(range(self.ndim)[::-1]))

    def squeeze(self, axis=None):
        """Return self without its axes of length 1, or only without those in `axis`."""
        axes = axes_of(axis, self.ndim)
        return self.reshape(tuple(n for i, n in enumerate(self.shape) if n != 1 or i not in axes))

    def unsqueeze(self, axis):
        """Return self with a new axis of length 1, which is number `axis` of the result."""
        return self.reshape(np.expand_dims(self.data, axis).shape)

    def flatten(self, start=0, end=-1):
        """Return self with the axes from `start` to `end`, inclusive, made one."""
        first, last = axes_of((start,), self.ndim) + axes_of((end,), self.ndim)
        length = math.prod(self.shape[first : last + 1])
        return self.reshape(*self.shape[:first], length, *self.shape[last + 1 :])

    # Indexing

    def __getitem__(self, index):
        """Return the elements that numpy's rules choose; IndexError where there is none.

        `index` is an integer, a slice with a positive step, ..., None, an array
        of integers or booleans (also a list or a Tensor), or a tuple of these.
        An element chosen twice gets both gradients.
        """
        index = tuple(map(plain, index)) if isinstance(index, tuple) else plain(index)
        shape = self.shape

        def gradient(g):
            spread = np.zeros(shape, g.dtype)
            if chooses_once(index):
                spread[index] = g
            else:
                np.add.at(*flat_rows(spread, index, g))  # += would keep one of several
            return (spread,)

        return record(self.data[index], (self,), gradient)

    def split(self, sizes, axis=0):
        """Return a list of Tensors: self cut along `axis` into pieces of these sizes."""
        (axis,) = axes_of(axis, self.ndim)
        if sum(sizes) != self.shape[axis] or min(sizes) < 0:
            raise ValueError(f"sizes {sizes} do not make up the length {self.shape[axis]}")
        ends = np.cumsum(sizes).tolist()
        before = (slice(None),) * axis
        return [self[(*before, slice(end - size, end))] for size, end in zip(sizes, ends)]

    def gather(self, axis, index):
        """Return the elements at `index` along `axis`.

        `index` holds whole numbers and has self's shape, except along `axis`.
        For axis 1 of two: out[i, j] = self[i, index[i, j]].
        """
        (axis,), index = axes_of(axis, self.ndim), array_of(index)
        lengths = list(self.shape)
        lengths[axis] = index.shape[axis] if index.ndim == self.ndim else -1
        if index.shape != tuple(lengths):
            raise ValueError(f"index of shape {index.shape} does not fit {self.shape}, axis {axis}")
        places = list(np.ix_(*map(np.arange, index.shape)))  # each element's own place ...
        places[axis] = index  # ... on all axes but one
        return self[tuple(places)]

    # Functions, element by element

    @np.errstate(all="ignore")
    def exp(self):
        """Return e ** self."""
        out = np.exp(self.data)
        return record(out, (self,), lambda g: (g * out,))

    @np.errstate(all="ignore")
    def log(self):
        """Return the natural logarithm; NaN, without a warning, where self < 0."""
        x = self.data
        return record(np.log(x), (self,), lambda g: (g / x,))

    @np.errstate(all="ignore")
    def sqrt(self):
        """Return the square root; NaN, without a warning, where self < 0."""
        out = np.sqrt(self.data)
        return record(out, (self,), lambda g: (g / (2 * out),))

    def sin(self):
        """Return the sine of self, in radians."""
        x = self.data
        return record(np.sin(x), (self,), lambda g: (g * np.cos(x),))

    def cos(self):
        """Return the cosine of self, in radians."""
        x = self.data
        return record(np.cos(x), (self,), lambda g: (g * -np.sin(x),))

    def abs(self):
        """Return the absolute value; the slope at 0 is 0."""
        x = self.data
        return record(np.abs(x), (self,), lambda g: (g * np.sign(x),))

    def tanh(self):
        """Return the hyperbolic tangent."""
        out = np.tanh(self.data)
        return record(out, (self,), lambda g: (g * (1 - out * out),))

    def sigmoid(self):
        """Return 1 / (1 + e ** -self); finite for every number."""
        # e ** -|x| never overflows; for x < 0 both sides of the fraction are multiplied by e ** x.
        decay = np.exp(-np.abs(self.data))
        out = np.maximum(self.data >= 0, decay) / (1 + decay)  # np.where takes twice the time
        return record(out, (self,), lambda g: (g * (out * (1 - out)),))

    def relu(self):
        """Return max(self, 0); the slope at 0 is 0."""
        out = np.maximum(self.data, 0)
        return record(out, (self,), lambda g: (g * (out > 0),))

    def maximum(self, other):
        """Return the larger of self and other; equal ones get half of the gradient each."""
        return larger(self, other, 1)

    def minimum(self, other):
        """Return the smaller of self and other; equal ones get half of the gradient each."""
        return larger(self, other, -1)

    def clip(self, low=None, high=None):
        """Return self held between two numbers or None; the slope at the bounds is 1."""
        x, out = self.data, np.clip(self.data, low, high)
        return record(out, (self,), lambda g: (g * (x == out),))

    def masked_fill(self, mask, value):
        """Return self with `value`, a number, where `mask` is True."""
        return where(mask, value, self)

    # Comparisons: boolean tensors, which no gradient passes

    def __eq__(self, other):
        return compare(np.equal, self, other)

    def __ne__(self, other):
        return compare(np.not_equal, self, other)

    def __lt__(self, other):
        return compare(np.less, self, other)

    def __le__(self, other):
        return compare(np.less_equal, self, other)

    def __gt__(self, other):
        return compare(np.greater, self, other)

    def __ge__(self, other):
        return compare(np.greater_equal, self, other)

    def __and__(self, other):
        return compare(np.bitwise_and, self, other)

    def __or__(self, other):
        return compare(np.bitwise_or, self, other)

    def __invert__(self):
        return record(~self.data, (), None)


def where(condition, a, b):
    """Return a where `condition` is True and b elsewhere; all three are broadcast.

    What was not chosen, be it infinite or NaN, reaches neither result nor gradient.
    """
    chosen = array_of(condition)
    a, b = operands(a, b)
    out = np.where(chosen, a.data, b.data)
    return record(out, (a, b), lambda g: (np.where(chosen, g, 0), np.where(chosen, 0, g)))


def concat(tensors, axis=0):
    """Return the tensors joined along `axis`, along which their lengths may differ."""
    parents = tuple(map(as_tensor, tensors))
    out = np.concatenate([t.data for t in parents], axis)
    ends = np.cumsum([t.shape[axis] for t in parents])[:-1]
    return record(out, parents, lambda g: np.split(g, ends, axis))


def stack(tensors, axis=0):
    """Return tensors of one shape joined along a new axis, which is number `axis` of the result."""
    return concat([as_tensor(t).unsqueeze(axis) for t in tensors], axis)


# What operations are made of


@contextmanager
def no_grad():
    """Record nothing inside the `with` block: results require no gradient and have no parents."""
    global recording
    before, recording = recording, False
    try:
        yield
    finally:
        recording = before


def record(data, parents, gradient):
    """Return the result of an operation: a Tensor of `data`, uncopied, that knows its origin.

    `parents` and `gradient` as in `Tensor`. They are kept only where `data` is
    floating, a parent requires a gradient, and no `no_grad` is in force.
    """
    out = Tensor.__new__(Tensor)
    out.data, out.grad = np.asarray(data), None
    out.requires_grad = (
        recording and out.data.dtype.kind == "f" and any(p.requires_grad for p in parents)
    )
    out.parents, out.gradient = (parents, gradient) if out.requires_grad else ((), None)
    return out


def freed(g):
    """Stands where a gradient function was: an earlier `backward` has let it go."""



def operands(a, b):
    """Return a and b, of which one is a Tensor, as Tensors of one dtype.

    A plain number, also one of numpy's, takes the other side's dtype; a fraction
    beside whole numbers is float32, a whole number beside booleans int64. Of two
    tensors, floating wins over whole and whole over boolean, then axes over none,
    then the wider dtype.
    """
    a, b = (as_tensor(x, like=y) for x, y in ((a, b), (b, a)))
    if a.dtype == b.dtype:
        return a, b
    if strength(a) == strength(b):
        dtype = np.promote_types(a.dtype, b.dtype)
    else:
        dtype = max(a, b, key=strength).dtype
    return tuple(t if t.dtype == dtype else t.astype(dtype) for t in (a, b))


def strength(x):
    """Return what decides whose dtype prevails: floating, then not boolean, then having axes."""
    return x.dtype.kind == "f", x.dtype.kind != "b", x.ndim > 0


def as_tensor(x, like=None):
    """Return x as a Tensor; a plain number in the dtype of `like`, where that holds it."""
    if isinstance(x, Tensor):
        return x
    if not isinstance(x, int | float | np.number | np.bool_):
        return record(np.asarray(x), (), None) if isinstance(x, np.ndarray) else Tensor(x)
    x = x.item() if isinstance(x, np.generic) else x
    dtype = np.dtype(getattr(like, "dtype", np.float32))
    if isinstance(x, float) and dtype.kind != "f":
        dtype = np.dtype(np.float32)  # numpy itself would take float64
    return record(np.array(x, np.result_type(dtype, x)), (), None)


def array_of(x, dtype=None):
    """Return a Tensor's array, or x as an array."""
    return np.asarray(x.data if isinstance(x, Tensor) else x, dtype)


def floating(x):
    """Return x itself if it holds floating numbers, else x in float32."""
    return x if x.dtype.kind == "f" else x.astype(np.float32)




def count_of(x, axis):
    """Return how many elements of x a reduction over `axis` takes together."""
    return math.prod(x.shape[i] for i in axes_of(axis, x.ndim))



def extreme(x, function, axis, keepdims):
    """Return the largest or smallest elements, by np.max or np.min."""
    axes = axes_of(axis, x.ndim)
    out = function(x.data, axis=axes, keepdims=True)

    def gradient(g):
        chosen = (x.data == out).astype(g.dtype)
        return (with_axes(g, axes, x.shape) * (chosen / chosen.sum(axis=axes, keepdims=True)),)

    return record(out if keepdims else out.squeeze(axes), (x,), gradient)


def larger(a, b, sign):
    """Return the larger of a and b, or the smaller for sign -1."""
    a, b = operands(a, b)

    def gradient(g):
        share = (1 + np.sign(sign * (a.data - b.data))) / 2  # 1, 0, or 1/2 where they are equal
        return g * share, g * (1 - share)

    return record((np.maximum if sign > 0 else np.minimum)(a.data, b.data), (a, b), gradient)


def compare(function, a, b):
    """Return the boolean Tensor of a comparison."""
    a, b = operands(a, b)
    return record(function(a.data, b.data), (), None)



def plain(index):
    """Return one part of an index as numpy takes it."""
    return array_of(index) if isinstance(index, Tensor | list) else index
