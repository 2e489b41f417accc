"""One class per operation, as PyTorch's own extensions are written.

`forward(ctx, ...)` takes arrays and saves in `ctx` what `backward(ctx, g)` needs; `backward`
returns one array per operand, or None. A result knows its `creator`: the context, which knows
its operands. The pass counts how many results wait for a gradient before it hands one on.
"""

import contextlib
import math

import numpy as np

from .shapes import positive, unbroadcast

GRAPHS = [True]  # the last says whether operations are recorded


@contextlib.contextmanager
def no_grad():
    GRAPHS.append(False)
    try:
        yield
    finally:
        GRAPHS.pop()


class Context:
    """What one use of an operation leaves for the way back."""

    def __init__(self, function, operands):
        self.function, self.operands = function, operands
        self.needs = [x.requires_grad for x in operands]
        self.saved, self.used_up = (), False

    def save(self, *saved):
        self.saved = saved

    def discard(self):
        self.operands, self.saved, self.used_up = (), (), True


class Function:
    @classmethod
    def apply(cls, *operands, **options):
        ctx = Context(cls, operands)
        with np.errstate(all="ignore"):
            result = Tensor.of(cls.forward(ctx, *[x.array for x in operands], **options))
        if GRAPHS[-1] and any(ctx.needs) and is_floating(result.array):
            result.requires_grad, result.creator = True, ctx
        return result


def is_floating(array):
    return np.issubdtype(array.dtype, np.floating)


class Tensor:
    __array_ufunc__ = None

    def __init__(self, data, requires_grad=False, dtype=None):
        self.array = np.array(data, dtype=dtype)
        if self.array.dtype.kind not in "fiub":
            raise TypeError("a tensor is made of numbers")
        if not isinstance(data, np.ndarray) and dtype is None and self.array.dtype != bool:
            self.array = self.array.astype("float32")
        if requires_grad and not is_floating(self.array):
            raise TypeError("only floating numbers have gradients")
        self.requires_grad = requires_grad
        self.creator = self.gradient = None

    @classmethod
    def of(cls, array):
        """Return a Tensor of this very array."""
        self = object.__new__(cls)
        self.array = np.asarray(array)
        self.requires_grad, self.creator, self.gradient = False, None, None
        return self

    @property
    def data(self):
        return self.array

    @data.setter
    def data(self, array):
        self.array = array

    @property
    def grad(self):
        return self.gradient

    @grad.setter
    def grad(self, array):
        self.gradient = array

    @property
    def shape(self):
        return self.array.shape

    @property
    def ndim(self):
        return self.array.ndim

    @property
    def size(self):
        return self.array.size

    @property
    def dtype(self):
        return self.array.dtype

    @property
    def is_leaf(self):
        return self.creator is None

    @property
    def T(self):
        return self.permute(*range(self.ndim - 1, -1, -1))

    def __repr__(self):
        return f"Tensor of shape {self.shape}:\n{self.array}"

    def __len__(self):
        return self.shape[0]

    def __bool__(self):
        return bool(self.item())

    __hash__ = object.__hash__

    def item(self):
        return self.array.item()

    def numpy(self):
        if self.requires_grad:
            raise RuntimeError("detach this tensor first")
        return self.array

    def detach(self):
        return Tensor.of(self.array)

    def astype(self, dtype):
        return Cast.apply(self, dtype=np.dtype(dtype))

    def backward(self, gradient=None, retain_graph=False):
        if not self.requires_grad:
            raise RuntimeError("nothing that this tensor depends on requires a gradient")
        if gradient is None:
            if self.size != 1:
                raise RuntimeError("only one element can do without a gradient")
            gradient = 1
            start = np.full(self.shape, gradient, self.dtype)
        else:
            gradient = gradient.array if isinstance(gradient, Tensor) else gradient
            start = np.array(gradient, self.dtype)
            if start.shape != self.shape:
                raise RuntimeError(f"{start.shape} is not {self.shape}")
        waiting = count_uses(self)
        ready, arrived = [(self, start)], {}
        while ready:
            node, g = ready.pop()
            ctx = node.creator
            if ctx is None:
                node.gradient = np.array(g) if node.gradient is None else node.gradient + g
                continue
            with np.errstate(all="ignore"):
                parts = ctx.function.backward(ctx, g)
            for x, part in zip(ctx.operands, parts):
                if not x.requires_grad:
                    continue
                if part is not None:
                    part = unbroadcast(part, x.shape)
                    old = arrived.pop(id(x), None)
                    arrived[id(x)] = part if old is None else np.add(old, part)
                waiting[id(x)] -= 1
                if not waiting[id(x)]:
                    ready.append((x, arrived.pop(id(x))))
            if not retain_graph:
                ctx.discard()
            node = ctx = g = parts = part = old = x = None

    def __add__(self, other):
        return Add.apply(*alike(self, other))

    def __radd__(self, other):
        return Add.apply(*alike(other, self))

    def __sub__(self, other):
        return Subtract.apply(*alike(self, other))

    def __rsub__(self, other):
        return Subtract.apply(*alike(other, self))

    def __mul__(self, other):
        return Multiply.apply(*alike(self, other))

    def __rmul__(self, other):
        return Multiply.apply(*alike(other, self))

    def __truediv__(self, other):
        return Divide.apply(*fractions(*alike(self, other)))

    def __rtruediv__(self, other):
        return Divide.apply(*fractions(*alike(other, self)))

    def __pow__(self, other):
        return power(*alike(self, other))

    def __rpow__(self, other):
        return power(*alike(other, self))

    def __matmul__(self, other):
        return product(*alike(self, other))

    def __rmatmul__(self, other):
        return product(*alike(other, self))

    def __neg__(self):
        return Negate.apply(self)

    def sum(self, axis=None, keepdims=False):
        return Sum.apply(self, axes=positive(axis, self.ndim), keepdims=keepdims)

    def mean(self, axis=None, keepdims=False):
        return Mean.apply(*fractions(self), axes=positive(axis, self.ndim), keepdims=keepdims)

    def var(self, axis=None, keepdims=False, correction=1):
        axes = positive(axis, self.ndim)
        return Variance.apply(*fractions(self), axes=axes, keepdims=keepdims, correction=correction)

    def std(self, axis=None, keepdims=False, correction=1):
        return Root.apply(self.var(axis, keepdims, correction), at_zero=0.0)

    def max(self, axis=None, keepdims=False):
        return Extreme.apply(self, axes=positive(axis, self.ndim), keepdims=keepdims, best=np.maximum)

    def min(self, axis=None, keepdims=False):
        return Extreme.apply(self, axes=positive(axis, self.ndim), keepdims=keepdims, best=np.minimum)

    def argmax(self, axis=None):
        """Of equal elements, the last one."""
        array = self.array.ravel() if axis is None else np.moveaxis(self.array, axis, -1)
        return Tensor.of(array.shape[-1] - 1 - array[..., ::-1].argmax(-1))

    def reshape(self, *shape):
        return Reshape.apply(self, shape=numbers_of(shape))

    def permute(self, *order):
        order = positive(numbers_of(order), self.ndim)
        if len(order) < self.ndim:
            raise ValueError("some axes are missing")
        return Permute.apply(self, order=order)

    def transpose(self, first=-2, second=-1):
        order = list(range(self.ndim))
        order[first], order[second] = order[second], order[first]
        return Permute.apply(self, order=order)

    def swapaxes(self, first, second):
        return self.transpose(first, second)

    def expand(self, *shape):
        return Expand.apply(self, shape=numbers_of(shape))

    def flip(self, axis=None):
        return Flip.apply(self, axes=positive(axis, self.ndim))

    def pad(self, widths, value=0.0):
        if len(widths) != self.ndim:
            raise ValueError("two widths are needed for every axis")
        return Pad.apply(self, widths=[tuple(pair) for pair in widths], value=value)

    def squeeze(self, axis=None):
        gone = [i for i in positive(axis, self.ndim) if self.shape[i] == 1]
        return self.reshape(tuple(n for i, n in enumerate(self.shape) if i not in gone))

    def unsqueeze(self, axis):
        (axis,) = positive(axis, self.ndim + 1)
        return self.reshape((*self.shape[:axis], 1, *self.shape[axis:]))

    def flatten(self, start=0, end=-1):
        start, end = positive(start, self.ndim)[0], positive(end, self.ndim)[0] + 1
        middle = math.prod(self.shape[start:end])
        return self.reshape((*self.shape[:start], middle, *self.shape[end:]))

    def __getitem__(self, index):
        parts = index if isinstance(index, tuple) else (index,)
        return Choose.apply(self, index=tuple(as_index(part) for part in parts))

    def split(self, sizes, axis=0):
        (axis,) = positive(axis, self.ndim)
        if sum(sizes) != self.shape[axis]:
            raise ValueError(f"{sizes} do not add up to {self.shape[axis]}")
        pieces, start = [], 0
        for size in sizes:
            index = [slice(None)] * self.ndim
            index[axis] = slice(start, start + size)
            pieces.append(Choose.apply(self, index=tuple(index)))
            start += size
        return pieces

    def gather(self, axis, index):
        (axis,), index = positive(axis, self.ndim), as_index(index)
        if index.ndim != self.ndim or any(
            m != n for i, (m, n) in enumerate(zip(index.shape, self.shape)) if i != axis
        ):
            raise ValueError(f"an index of shape {index.shape} does not fit {self.shape}")
        return Gather.apply(self, axis=axis, index=index)

    def exp(self):
        return Exp.apply(self)

    def log(self):
        return Log.apply(self)

    def sqrt(self):
        return Root.apply(self)

    def sin(self):
        return Sine.apply(self)

    def cos(self):
        return Cosine.apply(self)

    def abs(self):
        return Absolute.apply(self)

    def tanh(self):
        return Tanh.apply(self)

    def sigmoid(self):
        return Sigmoid.apply(self)

    def relu(self):
        return Relu.apply(self)

    def maximum(self, other):
        return Larger.apply(*alike(self, other))

    def minimum(self, other):
        return Smaller.apply(*alike(self, other))

    def clip(self, low=None, high=None):
        low, high = -math.inf if low is None else low, math.inf if high is None else high
        return Clip.apply(self, low=low, high=high)

    def masked_fill(self, mask, value):
        return Fill.apply(self, mask=as_index(mask), value=value)

    def __eq__(self, other):
        return Tensor.of(np.equal(*arrays_of(alike(self, other))))

    def __ne__(self, other):
        return Tensor.of(np.not_equal(*arrays_of(alike(self, other))))

    def __lt__(self, other):
        return Tensor.of(np.less(*arrays_of(alike(self, other))))

    def __le__(self, other):
        return Tensor.of(np.less_equal(*arrays_of(alike(self, other))))

    def __gt__(self, other):
        return Tensor.of(np.greater(*arrays_of(alike(self, other))))

    def __ge__(self, other):
        return Tensor.of(np.greater_equal(*arrays_of(alike(self, other))))

    def __and__(self, other):
        return Tensor.of(np.bitwise_and(*arrays_of(alike(self, other))))

    def __or__(self, other):
        return Tensor.of(np.bitwise_or(*arrays_of(alike(self, other))))

    def __invert__(self):
        return Tensor.of(np.invert(self.array))


def count_uses(root):
    """Return how often each tensor that needs a gradient is an operand below `root`.

    RuntimeError where a part of the graph is used up.
    """
    uses, stack = {id(root): 0}, [root]
    while stack:
        ctx = stack.pop().creator
        if ctx is None:
            continue
        if ctx.used_up:
            raise RuntimeError("this graph has been used up by another pass")
        for x in ctx.operands:
            if x.requires_grad:
                if id(x) not in uses:
                    uses[id(x)] = 0
                    stack.append(x)
                uses[id(x)] += 1
    return uses


# Operands


def tensors_of(xs):
    return [x if isinstance(x, Tensor) else Tensor(np.asarray(x)) for x in xs]


def arrays_of(tensors):
    return [x.array for x in tensors]


def alike(a, b):
    """Return both operands as Tensors of the dtype that the operation is done in."""
    a_plain, b_plain = is_plain(a), is_plain(b)
    if a_plain:
        a = Tensor.of(np.array(a, dtype_beside(a, b)))
    if b_plain:
        b = Tensor.of(np.array(b, dtype_beside(b, a)))
    a, b = (x if isinstance(x, Tensor) else Tensor(x) for x in (a, b))
    if a.dtype == b.dtype:
        return a, b
    ranks = [("biuf".replace("u", "i").index(x.dtype.kind.replace("u", "i")), x.ndim > 0) for x in (a, b)]
    if ranks[0] == ranks[1]:
        dtype = np.promote_types(a.dtype, b.dtype)
    else:
        dtype = (a if ranks[0] > ranks[1] else b).dtype
    return tuple(x if x.dtype == dtype else Cast.apply(x, dtype=dtype) for x in (a, b))


def is_plain(x):
    return isinstance(x, int | float | np.generic)


def dtype_beside(number, other):
    """Return the dtype of a plain number whose partner in an operation is `other`."""
    dtype = other.dtype if isinstance(other, Tensor | np.ndarray) else np.dtype("float32")
    whole = isinstance(number, int | np.integer | np.bool_)
    if dtype.kind == "f":
        return dtype
    if not whole:
        return np.dtype("float32")
    return np.dtype("int64") if dtype.kind == "b" and not isinstance(number, bool | np.bool_) else dtype


def fractions(*tensors):
    return [x if is_floating(x.array) else x.astype("float32") for x in tensors]


def numbers_of(arguments):
    """Return the numbers of f(1, 2) and of f((1, 2))."""
    if len(arguments) == 1 and isinstance(arguments[0], tuple | list | range):
        return tuple(arguments[0])
    return arguments


def as_index(part):
    if isinstance(part, Tensor):
        return part.array
    return np.asarray(part) if isinstance(part, list) else part


# Arithmetic


class Cast(Function):
    @staticmethod
    def forward(ctx, x, dtype):
        ctx.save(x.dtype)
        return x.astype(dtype)

    @staticmethod
    def backward(ctx, g):
        return (g.astype(ctx.saved[0]),)


class Add(Function):
    @staticmethod
    def forward(ctx, a, b):
        return a + b

    @staticmethod
    def backward(ctx, g):
        return g, g


class Subtract(Function):
    @staticmethod
    def forward(ctx, a, b):
        return a - b

    @staticmethod
    def backward(ctx, g):
        return g, -g


class Negate(Function):
    @staticmethod
    def forward(ctx, x):
        return np.negative(x)

    @staticmethod
    def backward(ctx, g):
        return (-g,)


class Multiply(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save(a if ctx.needs[1] else None, b if ctx.needs[0] else None)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved
        return None if b is None else b * g, None if a is None else a * g


class Divide(Function):
    @staticmethod
    def forward(ctx, a, b):
        quotient = a / b
        ctx.save(b, quotient)
        return quotient

    @staticmethod
    def backward(ctx, g):
        b, quotient = ctx.saved
        share = g / b
        return share, -quotient * share


class Power(Function):
    @staticmethod
    def forward(ctx, base, exponent):
        result = np.power(base, exponent)
        ctx.save(base, exponent, result)
        return result

    @staticmethod
    def backward(ctx, g):
        base, exponent, result = ctx.saved
        in_base = in_exponent = None
        if ctx.needs[0]:
            slope = exponent * np.power(base, exponent - 1)
            in_base = g * np.where(exponent == 0, 0, slope)
        if ctx.needs[1]:
            slope = np.log(base) * result
            in_exponent = g * np.where((base == 0) & (exponent >= 0), 0, slope)
        return in_base, in_exponent


def power(base, exponent):
    if not is_floating(base.array) and np.any(exponent.array < 0):
        base, exponent = fractions(base, exponent)
    return Power.apply(base, exponent)


# Functions of one operand


class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save(np.exp(x))
        return ctx.saved[0]

    @staticmethod
    def backward(ctx, g):
        return (ctx.saved[0] * g,)


class Log(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save(x)
        return np.log(x)

    @staticmethod
    def backward(ctx, g):
        return (g / ctx.saved[0],)


class Root(Function):
    """The slope at 0 is infinite, unless `at_zero` says otherwise."""

    @staticmethod
    def forward(ctx, x, at_zero=math.inf):
        root = np.sqrt(x)
        ctx.save(root, at_zero)
        return root

    @staticmethod
    def backward(ctx, g):
        root, at_zero = ctx.saved
        slope = np.where(root == 0, np.asarray(at_zero, root.dtype), 0.5 / root)
        return (g * slope,)


class Sine(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save(np.cos(x))
        return np.sin(x)

    @staticmethod
    def backward(ctx, g):
        return (ctx.saved[0] * g,)


class Cosine(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save(np.sin(x))
        return np.cos(x)

    @staticmethod
    def backward(ctx, g):
        return (ctx.saved[0] * -g,)


class Absolute(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save(x > 0, x < 0)
        return np.abs(x)

    @staticmethod
    def backward(ctx, g):
        above, below = ctx.saved
        return (g * above - g * below,)


class Tanh(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save(np.tanh(x))
        return ctx.saved[0]

    @staticmethod
    def backward(ctx, g):
        (t,) = ctx.saved
        return (g - g * t**2,)


class Sigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        result = np.empty_like(x)
        low = x < 0
        small = np.exp(x[low])
        result[low] = small / (1 + small)
        result[~low] = 1 / (1 + np.exp(-x[~low]))
        ctx.save(result)
        return result

    @staticmethod
    def backward(ctx, g):
        (s,) = ctx.saved
        return (g * s - g * s * s,)


class Relu(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save(x > 0)
        return np.where(x <= 0, 0, x).astype(x.dtype)

    @staticmethod
    def backward(ctx, g):
        return (np.where(ctx.saved[0], g, 0),)


class Clip(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save((low <= x) & (x <= high))
        return np.minimum(np.maximum(x, low), high)

    @staticmethod
    def backward(ctx, g):
        return (g * ctx.saved[0],)


class Fill(Function):
    @staticmethod
    def forward(ctx, x, mask, value):
        mask = np.broadcast_to(mask, x.shape)
        ctx.save(mask)
        result = x.copy()
        result[mask] = value
        return result

    @staticmethod
    def backward(ctx, g):
        g = g.copy()
        g[ctx.saved[0]] = 0
        return (g,)


# Functions of two


class Larger(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save(a > b, a == b)
        return np.maximum(a, b)

    @staticmethod
    def backward(ctx, g):
        first, tie = ctx.saved
        return g * first + g / 2 * tie, g * ~(first | tie) + g / 2 * tie


class Smaller(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save(a < b, a == b)
        return np.minimum(a, b)

    backward = Larger.backward


class Where(Function):
    @staticmethod
    def forward(ctx, a, b, condition):
        ctx.save(condition)
        return np.where(condition, a, b)

    @staticmethod
    def backward(ctx, g):
        nothing = np.zeros((), g.dtype)
        return np.where(ctx.saved[0], g, nothing), np.where(ctx.saved[0], nothing, g)


def where(condition, a, b):
    return Where.apply(*alike(a, b), condition=np.asarray(as_index(condition), bool))


# Reductions


def kept(g, shape, axes):
    """Return g with the reduced axes in place."""
    return g.reshape([1 if i in axes else n for i, n in enumerate(shape)])


class Sum(Function):
    @staticmethod
    def forward(ctx, x, axes, keepdims):
        ctx.save(x.shape, axes)
        return x.sum(axis=tuple(axes), keepdims=keepdims)

    @staticmethod
    def backward(ctx, g):
        shape, axes = ctx.saved
        return (np.zeros(shape, g.dtype) + kept(g, shape, axes),)


class Mean(Function):
    @staticmethod
    def forward(ctx, x, axes, keepdims):
        ctx.save(x.shape, axes)
        return x.mean(axis=tuple(axes), keepdims=keepdims)

    @staticmethod
    def backward(ctx, g):
        shape, axes = ctx.saved
        count = math.prod(shape[i] for i in axes)
        return (np.ones(shape, g.dtype) * kept(g / max(count, 1), shape, axes),)


class Variance(Function):
    @staticmethod
    def forward(ctx, x, axes, keepdims, correction):
        over = max(math.prod(x.shape[i] for i in axes) - correction, 0)
        apart = x - x.mean(axis=tuple(axes), keepdims=True)
        ctx.save(apart, axes, over)
        squares = (apart * apart).sum(axis=tuple(axes), keepdims=keepdims)
        return squares / squares.dtype.type(over)

    @staticmethod
    def backward(ctx, g):
        apart, axes, over = ctx.saved
        return (2 * apart / apart.dtype.type(over) * kept(g, apart.shape, axes),)


class Extreme(Function):
    @staticmethod
    def forward(ctx, x, axes, keepdims, best):
        found = best.reduce(x, axis=tuple(axes), keepdims=True)
        ctx.save(x == found, axes)
        return found if keepdims else found.reshape([n for i, n in enumerate(x.shape) if i not in axes])

    @staticmethod
    def backward(ctx, g):
        winners, axes = ctx.saved
        share = kept(g, winners.shape, axes) / winners.sum(axis=tuple(axes), keepdims=True, dtype=g.dtype)
        return (np.where(winners, share, 0),)


# Matrices


class Product(Function):
    """Of two stacks of matrices."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save(a, b)
        return np.matmul(a, b)

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved
        in_a = np.matmul(g, np.swapaxes(b, -1, -2)) if ctx.needs[0] else None
        in_b = np.swapaxes(np.matmul(np.swapaxes(g, -1, -2), a), -1, -2) if ctx.needs[1] else None
        return in_a, in_b


def product(a, b):
    if not a.ndim or not b.ndim:
        raise ValueError("a number is no matrix")
    rows = a.reshape((1, *a.shape)) if a.ndim == 1 else a
    columns = b.reshape((*b.shape, 1)) if b.ndim == 1 else b
    result = Product.apply(rows, columns)
    shape = list(result.shape)
    if b.ndim == 1:
        del shape[-1]
    if a.ndim == 1:
        del shape[-1 if b.ndim == 1 else -2]
    return result if rows is a and columns is b else result.reshape(tuple(shape))


# Shapes


class Reshape(Function):
    @staticmethod
    def forward(ctx, x, shape):
        ctx.save(x.shape)
        return x.reshape(shape)

    @staticmethod
    def backward(ctx, g):
        return (g.reshape(ctx.saved[0]),)


class Permute(Function):
    @staticmethod
    def forward(ctx, x, order):
        ctx.save([order.index(i) for i in range(len(order))])
        return np.transpose(x, order)

    @staticmethod
    def backward(ctx, g):
        return (np.transpose(g, ctx.saved[0]),)


class Expand(Function):
    @staticmethod
    def forward(ctx, x, shape):
        ctx.save(x.shape)
        return np.broadcast_to(x, shape)

    @staticmethod
    def backward(ctx, g):
        return (unbroadcast(g, ctx.saved[0]),)


class Flip(Function):
    @staticmethod
    def forward(ctx, x, axes):
        ctx.save(tuple(slice(None, None, -1 if i in axes else 1) for i in range(x.ndim)))
        return x[ctx.saved[0]]

    @staticmethod
    def backward(ctx, g):
        return (g[ctx.saved[0]],)


class Pad(Function):
    @staticmethod
    def forward(ctx, x, widths, value):
        inside = tuple(slice(low, low + n) for (low, _), n in zip(widths, x.shape))
        result = np.full([low + n + high for (low, high), n in zip(widths, x.shape)], value, x.dtype)
        result[inside] = x
        ctx.save(inside)
        return result

    @staticmethod
    def backward(ctx, g):
        return (g[ctx.saved[0]],)


class Concat(Function):
    @staticmethod
    def forward(ctx, *arrays, axis):
        ctx.save([x.shape[axis] for x in arrays], axis)
        return np.concatenate(arrays, axis)

    @staticmethod
    def backward(ctx, g):
        lengths, axis = ctx.saved
        start, parts = 0, []
        for length in lengths:
            parts.append(np.take(g, range(start, start + length), axis))
            start += length
        return parts


def concat(tensors, axis=0):
    return Concat.apply(*tensors_of(tensors), axis=axis)


def stack(tensors, axis=0):
    return concat([x.unsqueeze(axis) for x in tensors_of(tensors)], axis)


# Indices


class Choose(Function):
    @staticmethod
    def forward(ctx, x, index):
        ctx.save(x.shape, index)
        return x[index]

    @staticmethod
    def backward(ctx, g):
        """Each element of g goes back to the number of the element that it came from."""
        shape, index = ctx.saved
        origin = np.arange(math.prod(shape)).reshape(shape)[index]
        flat = np.zeros(math.prod(shape), g.dtype)
        np.add.at(flat, np.ravel(origin), np.ravel(g))
        return (flat.reshape(shape),)


class Gather(Function):
    @staticmethod
    def forward(ctx, x, axis, index):
        ctx.save(x.shape, axis, index)
        return np.take_along_axis(x, index, axis)

    @staticmethod
    def backward(ctx, g):
        """One-hot rows add up what was chosen twice."""
        shape, axis, index = ctx.saved
        places = np.arange(shape[axis])
        chosen = np.moveaxis(index, axis, -1)[..., None] % shape[axis] == places
        found = np.where(chosen, np.moveaxis(g, axis, -1)[..., None], 0).sum(axis=-2)
        return (np.moveaxis(found, -1, axis),)
