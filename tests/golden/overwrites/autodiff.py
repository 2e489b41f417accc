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
        self.data = data
        self.grad = 0.0
        self.parents = parents
        self.gradient = gradient

    def __repr__(self):
        return f"Value(data={self.data}, grad={self.grad})"

    def __add__(self, other):
        """Return self + other as a new Value; `other` is a Value or a number."""
        other = other if isinstance(other, Value) else Value(other)

        def gradient(upstream, out, a, b):
            return upstream, upstream

        return Value(self.data + other.data, (self, other), gradient)

    def __mul__(self, other):
        """Return self * other as a new Value; `other` is a Value or a number."""
        other = other if isinstance(other, Value) else Value(other)

        def gradient(upstream, out, a, b):
            return upstream * b, upstream * a

        return Value(self.data * other.data, (self, other), gradient)

    def __pow__(self, exponent):
        """Return self ** exponent as a new Value; `exponent` is a Value or a number.

        x ** 0 is 1 and its slope in x is 0, at x = 0 too. A negative base takes
        whole exponents only, else ValueError. The gradient of the exponent is 0
        at base 0 and NaN at a negative base, where the logarithm does not exist.
        """
        exponent = exponent if isinstance(exponent, Value) else Value(exponent)

        def gradient(upstream, out, base, exponent):
            base_data, exponent_data = number(base), number(exponent)
            in_base = exponent * base ** (exponent - 1) if base_data or exponent_data else 0.0
            in_exponent = out * log(base) if base_data > 0 else 0.0 if base_data == 0 else math.nan
            return upstream * in_base, upstream * in_exponent

        return Value(math.pow(self.data, exponent.data), (self, exponent), gradient)

    # The other operators are made of these three and need no gradient of their own.

    def __neg__(self):
        """Return -self."""
        return self * -1.0

    def __sub__(self, other):
        """Return self - other; `other` is a Value or a number."""
        return self + (-other)

    def __truediv__(self, other):
        """Return self / other; `other` is a Value or a number."""
        return self * other**-1

    def __radd__(self, other):
        """Return other + self, where `other` is a number; `sum` starts with 0 + value."""
        return self + other

    def __rmul__(self, other):
        """Return other * self, where `other` is a number."""
        return self * other

    def __rsub__(self, other):
        """Return other - self, where `other` is a number."""
        return -self + other

    def __rtruediv__(self, other):
        """Return other / self, where `other` is a number."""
        return self**-1 * other

    def __rpow__(self, other):
        """Return other ** self, where `other` is a number."""
        return Value(other) ** self

    def exp(self):
        """Return e ** self."""

        def gradient(upstream, out, a):
            return (upstream * out,)

        return Value(math.exp(self.data), (self,), gradient)

    def log(self):
        """Return the natural logarithm of self; ValueError unless self > 0."""

        def gradient(upstream, out, a):
            return (upstream / a,)

        return Value(math.log(self.data), (self,), gradient)

    def sqrt(self):
        """Return the square root of self; ValueError if self < 0."""

        def gradient(upstream, out, a):
            return (upstream / (2 * out),)

        return Value(math.sqrt(self.data), (self,), gradient)

    def tanh(self):
        """Return the hyperbolic tangent of self; finite for every number."""

        def gradient(upstream, out, a):
            return (upstream * (1 - out * out),)

        return Value(math.tanh(self.data), (self,), gradient)

    def sigmoid(self):
        """Return 1 / (1 + e ** -self); finite for every number."""

        def gradient(upstream, out, a):
            return (upstream * (out * (1 - out)),)

        # e ** -|x| never overflows; for x < 0 both sides of the fraction are multiplied by e ** x.
        decay = math.exp(-abs(self.data))
        return Value((1 if self.data >= 0 else decay) / (1 + decay), (self,), gradient)

    def relu(self):
        """Return max(self, 0); the slope at 0 is 0."""

        def gradient(upstream, out, a):
            return (upstream if number(a) > 0 else upstream * 0.0,)

        return Value(self.data if self.data > 0 else 0.0, (self,), gradient)

    def sin(self):
        """Return the sine of self, in radians."""

        def gradient(upstream, out, a):
            return (upstream * cos(a),)

        return Value(math.sin(self.data), (self,), gradient)

    def cos(self):
        """Return the cosine of self, in radians."""

        def gradient(upstream, out, a):
            return (upstream * -sin(a),)

        return Value(math.cos(self.data), (self,), gradient)

    def backward(self):
        """Add d(self)/d(leaf) to the `grad` of every leaf that self depends on.

        Leaves accumulate over calls. The `grad` of a computed value is that of
        the latest call: d(self)/d(value).
        """
        order = topological_order(self)
        for node in order:
            if node.parents:
                node.grad = 0.0
        self.grad += 1.0
        for node in reversed(order):
            if node.parents:
                operands = [parent.data for parent in node.parents]
                gradients = node.gradient(node.grad, node.data, *operands)
                for parent, gradient in zip(node.parents, gradients):
                    parent.grad = gradient


def topological_order(root):
    """Return every node that `root` depends on, and root: parents before children.

    Each node stands in the list once. Only `node.parents` is read, so any graph
    will do; any valid order is right. Linear in nodes and edges, and no deeper
    on the call stack for a longer chain.
    """
    order, visited, stack = [], set(), [root]
    while stack:
        node = stack.pop()
        if node is None:  # the parents of the node below this mark are all placed
            order.append(stack.pop())
        elif id(node) not in visited:
            visited.add(id(node))
            if node.parents:
                stack += (node, None, *node.parents)
            else:
                order.append(node)
    return order


def gradient_check(f, xs, step=1e-5, tolerance=1e-5):
    """Return True if `backward` agrees with finite differences on f at `xs`.

    f takes len(xs) Values and returns a Value; xs is a list of numbers. Each
    slope is measured as (f(x + step) - f(x - step)) / (2 step), one input at a
    time, and may differ by `tolerance` times max(1, |slope|). An input that does
    not reach the result has the gradient 0.
    """
    inputs = [Value(x) for x in xs]
    f(*inputs).backward()
    for i, x in enumerate(inputs):
        above = f(*[Value(x + step * (i == j)) for j, x in enumerate(xs)]).data
        below = f(*[Value(x - step * (i == j)) for j, x in enumerate(xs)]).data
        slope = (above - below) / (2 * step)
        if not abs(x.grad - slope) <= tolerance * max(1.0, abs(slope)):  # NaN is refused, too
            return False
    return True


def gradients(output, inputs):
    """Return d(output)/d(input) for each of `inputs`, as Values.

    The results are recorded like any computation, so they can be differentiated
    again; no `grad` changes. An input that does not reach the output gets 0.
    """
    found = {id(output): Value(1.0)}
    for node in reversed(topological_order(output)):
        if node.parents:
            passed = node.gradient(found[id(node)], node, *node.parents)
            for parent, gradient in zip(node.parents, passed):
                known = found.get(id(parent))
                found[id(parent)] = gradient if known is None else known + gradient
    return [found.get(id(x), Value(0.0)) for x in inputs]


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
