# Generated from solutions/stage2_tensor/tensor.py. The bodies are yours to write.
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
        raise NotImplementedError("2.1 Tensor.__init__")

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
        raise NotImplementedError("2.1 Tensor.item")

    def numpy(self):
        """Return the array; TypeError where a gradient is required."""
        raise NotImplementedError("2.1 Tensor.numpy")

    def detach(self):
        """Return a Tensor of the same array that no gradient reaches."""
        raise NotImplementedError("2.1 Tensor.detach")

    def astype(self, dtype):
        """Return self in another dtype; the gradient comes back in self's own."""
        raise NotImplementedError("2.1 Tensor.astype")

    def backward(self, gradient=None, retain_graph=False):
        """Add d(self)/d(leaf) to the `grad` of every leaf that requires it.

        `gradient` is d(loss)/d(self), of self's shape; it may be left out
        where self has one element, and is 1 then. The graph is freed on the
        way, so a second pass raises ValueError, unless `retain_graph`.
        ValueError, too, where self requires no gradient or shapes disagree.
        """
        raise NotImplementedError("2.2 Tensor.backward")

    # Arithmetic, element by element. The other operand is a Tensor, an array or a number.

    def __add__(self, other):
        """Return self + other."""
        raise NotImplementedError("2.2 Tensor.__add__")

    def __sub__(self, other):
        """Return self - other."""
        raise NotImplementedError("2.2 Tensor.__sub__")

    def __mul__(self, other):
        """Return self * other."""
        raise NotImplementedError("2.2 Tensor.__mul__")

    @np.errstate(all="ignore")
    def __truediv__(self, other):
        """Return self / other; whole numbers give float32."""
        raise NotImplementedError("2.2 Tensor.__truediv__")

    @np.errstate(all="ignore")
    def __pow__(self, exponent):
        """Return self ** exponent.

        x ** 0 is 1 with the slope 0, at 0 too. A negative power of whole
        numbers is float32. Where a Tensor is the exponent, its gradient is 0 at
        base 0 and NaN at a negative base.
        """
        raise NotImplementedError("2.2 Tensor.__pow__")

    def __neg__(self):
        """Return -self."""
        raise NotImplementedError("2.2 Tensor.__neg__")

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
        raise NotImplementedError("2.4 Tensor.sum")

    def mean(self, axis=None, keepdims=False):
        """Return the mean over `axis`; of whole numbers, in float32."""
        raise NotImplementedError("2.4 Tensor.mean")

    def max(self, axis=None, keepdims=False):
        """Return the largest element over `axis`; equal ones share the gradient evenly."""
        return extreme(self, np.max, axis, keepdims)

    def min(self, axis=None, keepdims=False):
        """Return the smallest element over `axis`; equal ones share the gradient evenly."""
        return extreme(self, np.min, axis, keepdims)

    def argmax(self, axis=None):
        """Return where the largest element stands: along `axis`, or flattened; of equals, any."""
        raise NotImplementedError("2.4 Tensor.argmax")

    def var(self, axis=None, keepdims=False, correction=1):
        """Return the variance over `axis`: squares about the mean, over (n - correction)."""
        raise NotImplementedError("2.4 Tensor.var")

    @np.errstate(all="ignore")
    def std(self, axis=None, keepdims=False, correction=1):
        """Return the square root of `var`; where all elements are equal, the gradient is 0."""
        raise NotImplementedError("2.4 Tensor.std")

    # Matrices and shapes

    def __matmul__(self, other):
        """Return the matrix product over the last two axes; the axes before them are broadcast.

        A vector counts as one row on the left and as one column on the right,
        and that axis is left out of the result. ValueError for operands of rank
        0, and where the inner lengths differ.
        """
        raise NotImplementedError("2.5 Tensor.__matmul__")

    def reshape(self, *shape):
        """Return the same elements in the same order as `shape`; a length -1 is worked out."""
        raise NotImplementedError("2.5 Tensor.reshape")

    def permute(self, *order):
        """Return self with its axes in another order: axis i of the result is order[i] of self."""
        raise NotImplementedError("2.6 Tensor.permute")

    def expand(self, *shape):
        """Return self repeated to `shape`: along axes of length 1 and along new leading axes."""
        raise NotImplementedError("2.6 Tensor.expand")

    def flip(self, axis=None):
        """Return self in reverse order along `axis`: None for all, a number, or a tuple."""
        raise NotImplementedError("2.6 Tensor.flip")

    def pad(self, widths, value=0.0):
        """Return self with `value` around it; `widths` holds (before, after) for every axis."""
        raise NotImplementedError("2.6 Tensor.pad")

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
        raise NotImplementedError("2.7 Tensor.__getitem__")

    def split(self, sizes, axis=0):
        """Return a list of Tensors: self cut along `axis` into pieces of these sizes."""
        raise NotImplementedError("2.7 Tensor.split")

    def gather(self, axis, index):
        """Return the elements at `index` along `axis`.

        `index` holds whole numbers and has self's shape, except along `axis`.
        For axis 1 of two: out[i, j] = self[i, index[i, j]].
        """
        raise NotImplementedError("2.8 Tensor.gather")

    # Functions, element by element

    @np.errstate(all="ignore")
    def exp(self):
        """Return e ** self."""
        raise NotImplementedError("2.8 Tensor.exp")

    @np.errstate(all="ignore")
    def log(self):
        """Return the natural logarithm; NaN, without a warning, where self < 0."""
        raise NotImplementedError("2.8 Tensor.log")

    @np.errstate(all="ignore")
    def sqrt(self):
        """Return the square root; NaN, without a warning, where self < 0."""
        raise NotImplementedError("2.8 Tensor.sqrt")

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
        raise NotImplementedError("2.8 Tensor.abs")

    def tanh(self):
        """Return the hyperbolic tangent."""
        raise NotImplementedError("2.8 Tensor.tanh")

    def sigmoid(self):
        """Return 1 / (1 + e ** -self); finite for every number."""
        raise NotImplementedError("2.8 Tensor.sigmoid")

    def relu(self):
        """Return max(self, 0); the slope at 0 is 0."""
        raise NotImplementedError("2.8 Tensor.relu")

    def maximum(self, other):
        """Return the larger of self and other; equal ones get half of the gradient each."""
        return larger(self, other, 1)

    def minimum(self, other):
        """Return the smaller of self and other; equal ones get half of the gradient each."""
        return larger(self, other, -1)

    def clip(self, low=None, high=None):
        """Return self held between two numbers or None; the slope at the bounds is 1."""
        raise NotImplementedError("2.8 Tensor.clip")

    def masked_fill(self, mask, value):
        """Return self with `value`, a number, where `mask` is True."""
        raise NotImplementedError("2.8 Tensor.masked_fill")

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
    raise NotImplementedError("2.8 where")


def concat(tensors, axis=0):
    """Return the tensors joined along `axis`, along which their lengths may differ."""
    raise NotImplementedError("2.6 concat")


def stack(tensors, axis=0):
    """Return tensors of one shape joined along a new axis, which is number `axis` of the result."""
    return concat([as_tensor(t).unsqueeze(axis) for t in tensors], axis)


# What operations are made of


@contextmanager
def no_grad():
    """Record nothing inside the `with` block: results require no gradient and have no parents."""
    raise NotImplementedError("2.1 no_grad")


def record(data, parents, gradient):
    """Return the result of an operation: a Tensor of `data`, uncopied, that knows its origin.

    `parents` and `gradient` as in `Tensor`. They are kept only where `data` is
    floating, a parent requires a gradient, and no `no_grad` is in force.
    """
    raise NotImplementedError("2.1 record")


def freed(g):
    """Stands where a gradient function was: an earlier `backward` has let it go."""



def operands(a, b):
    """Return a and b, of which one is a Tensor, as Tensors of one dtype.

    A plain number, also one of numpy's, takes the other side's dtype; a fraction
    beside whole numbers is float32, a whole number beside booleans int64. Of two
    tensors, floating wins over whole and whole over boolean, then axes over none,
    then the wider dtype.
    """
    raise NotImplementedError("2.2 operands")


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
    raise NotImplementedError("2.4 extreme")


def larger(a, b, sign):
    """Return the larger of a and b, or the smaller for sign -1."""
    raise NotImplementedError("2.8 larger")


def compare(function, a, b):
    """Return the boolean Tensor of a comparison."""
    raise NotImplementedError("2.8 compare")



def plain(index):
    """Return one part of an index as numpy takes it."""
    return array_of(index) if isinstance(index, Tensor | list) else index
