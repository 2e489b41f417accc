# Generated from solutions/stage1_autodiff/autodiff.py. The bodies are yours to write.
"""Reverse-mode automatic differentiation on single numbers.

A `Value` remembers the values it was computed from, its `parents`, and a
gradient function: given d(loss)/d(this value), it answers with
d(loss)/d(parent) for each parent. `backward` walks the recorded graph from
the result to the inputs and adds these answers up: that is the chain rule.
"""

import math


class Value:
    """A number that remembers how it was computed.

    Attributes:
        data: the number itself.
        grad: d(loss)/d(this value), 0.0 until a loss calls `backward`.
        parents: the Values it was computed from; () for a leaf.
        gradient: maps (d loss/d self, self, *parents) to one gradient per
            parent, in their order; None for a leaf. It is written in its
            arguments alone, so it serves plain numbers and Values alike.
    """

    # No other attributes: nodes are smaller and faster so. An attribute of your own goes in here.
    __slots__ = ("data", "grad", "gradient", "parents")

    def __init__(self, data, parents=(), gradient=None):
        """Hold `data`, an int or a float; the gradient starts at 0.0."""
        raise NotImplementedError("1.1 Value.__init__")

    def __repr__(self):
        return f"Value(data={self.data}, grad={self.grad})"

    def __add__(self, other):
        """Return self + other as a new Value; `other` is a Value or a number."""
        raise NotImplementedError("1.1 Value.__add__")

    def __mul__(self, other):
        """Return self * other as a new Value; `other` is a Value or a number."""
        raise NotImplementedError("1.1 Value.__mul__")

    def __pow__(self, exponent):
        """Return self ** exponent as a new Value; `exponent` is a Value or a number.

        x ** 0 is 1 and its slope in x is 0, at x = 0 too. A negative base takes
        whole exponents only, else ValueError. The gradient of the exponent is 0
        at base 0 and NaN at a negative base, where the logarithm does not exist.
        """
        raise NotImplementedError("1.1 Value.__pow__")

    # The other operators are made of these three and need no gradient of their own.

    def __neg__(self):
        """Return -self."""
        raise NotImplementedError("1.1 Value.__neg__")

    def __sub__(self, other):
        """Return self - other; `other` is a Value or a number."""
        raise NotImplementedError("1.1 Value.__sub__")

    def __truediv__(self, other):
        """Return self / other; `other` is a Value or a number."""
        raise NotImplementedError("1.1 Value.__truediv__")

    def __radd__(self, other):
        """Return other + self, where `other` is a number; `sum` starts with 0 + value."""
        raise NotImplementedError("1.1 Value.__radd__")

    def __rmul__(self, other):
        """Return other * self, where `other` is a number."""
        raise NotImplementedError("1.1 Value.__rmul__")

    def __rsub__(self, other):
        """Return other - self, where `other` is a number."""
        raise NotImplementedError("1.1 Value.__rsub__")

    def __rtruediv__(self, other):
        """Return other / self, where `other` is a number."""
        raise NotImplementedError("1.1 Value.__rtruediv__")

    def __rpow__(self, other):
        """Return other ** self, where `other` is a number."""
        raise NotImplementedError("1.1 Value.__rpow__")

    def exp(self):
        """Return e ** self."""
        raise NotImplementedError("1.8 Value.exp")

    def log(self):
        """Return the natural logarithm of self; ValueError unless self > 0."""
        raise NotImplementedError("1.8 Value.log")

    def sqrt(self):
        """Return the square root of self; ValueError if self < 0."""
        raise NotImplementedError("1.8 Value.sqrt")

    def tanh(self):
        """Return the hyperbolic tangent of self; finite for every number."""
        raise NotImplementedError("1.8 Value.tanh")

    def sigmoid(self):
        """Return 1 / (1 + e ** -self); finite for every number."""
        raise NotImplementedError("1.8 Value.sigmoid")

    def relu(self):
        """Return max(self, 0); the slope at 0 is 0."""
        raise NotImplementedError("1.8 Value.relu")

    def sin(self):
        """Return the sine of self, in radians."""
        raise NotImplementedError("1.8 Value.sin")

    def cos(self):
        """Return the cosine of self, in radians."""
        raise NotImplementedError("1.8 Value.cos")

    def backward(self):
        """Add d(self)/d(leaf) to the `grad` of every leaf that self depends on.

        Leaves accumulate over calls. The `grad` of a computed value is that of
        the latest call: d(self)/d(value).
        """
        raise NotImplementedError("1.2 Value.backward")


def topological_order(root):
    """Return every node that `root` depends on, and root: parents before children.

    Each node stands in the list once. Only `node.parents` is read, so any graph
    will do; any valid order is right. Linear in nodes and edges, and no deeper
    on the call stack for a longer chain.
    """
    raise NotImplementedError("1.2 topological_order")


def gradient_check(f, xs, step=1e-5, tolerance=1e-5):
    """Return True if `backward` agrees with finite differences on f at `xs`.

    f takes len(xs) Values and returns a Value; xs is a list of numbers. Each
    slope is measured as (f(x + step) - f(x - step)) / (2 step), one input at a
    time, and may differ by `tolerance` times max(1, |slope|). An input that does
    not reach the result has the gradient 0.
    """
    raise NotImplementedError("1.9 gradient_check")


def gradients(output, inputs):
    """Return d(output)/d(input) for each of `inputs`, as Values.

    The results are recorded like any computation, so they can be differentiated
    again; no `grad` changes. An input that does not reach the output gets 0.
    """
    raise NotImplementedError("1.11 gradients")


# What a gradient function needs of its arguments, be they Values or plain numbers.


def number(x):
    """Return the plain number in x."""
    return x.data if isinstance(x, Value) else x


def log(x):
    """Return the natural logarithm of a Value or a number."""
    return x.log() if isinstance(x, Value) else math.log(x)


def sin(x):
    """Return the sine of a Value or a number."""
    return x.sin() if isinstance(x, Value) else math.sin(x)


def cos(x):
    """Return the cosine of a Value or a number."""
    return x.cos() if isinstance(x, Value) else math.cos(x)
