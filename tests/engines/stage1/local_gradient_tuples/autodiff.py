"""Each operation works out its local derivatives at once and stores (parent, derivative) pairs.

Plain numbers never become nodes. For gradients of gradients a node also keeps a function that
states the same derivatives as Values, called only by `gradients`.
"""

import math
from collections import deque


class Value:
    """A number, and the slope of this number in each Value it was made of."""

    __slots__ = ("data", "grad", "pairs", "slopes")

    def __init__(self, data, pairs=(), slopes=None):
        self.data = data
        self.grad = 0.0
        self.pairs = pairs
        self.slopes = slopes

    @property
    def parents(self):
        return tuple(parent for parent, _ in self.pairs)

    def __repr__(self):
        return f"Value(data={self.data}, grad={self.grad})"

    def __add__(self, other):
        if isinstance(other, Value):
            pairs = (self, 1.0), (other, 1.0)
            return Value(self.data + other.data, pairs, lambda: (1.0, 1.0))
        return Value(self.data + other, ((self, 1.0),), lambda: (1.0,))

    __radd__ = __add__

    def __mul__(self, other):
        if isinstance(other, Value):
            pairs = (self, other.data), (other, self.data)
            return Value(self.data * other.data, pairs, lambda: (other, self))
        return Value(self.data * other, ((self, other),), lambda: (other,))

    __rmul__ = __mul__

    def __neg__(self):
        return Value(-self.data, ((self, -1.0),), lambda: (-1.0,))

    def __sub__(self, other):
        return self + -other

    def __rsub__(self, other):
        return -self + other

    def __truediv__(self, other):
        if isinstance(other, Value):
            return self * other.reciprocal()
        return Value(self.data / other, ((self, 1 / other),), lambda: (1 / other,))

    def __rtruediv__(self, other):
        return self.reciprocal() * other

    def reciprocal(self):
        out = 1 / self.data
        # Not -(out * out), nor 1 / x**2: neither may fail forwards where only the slope overflows.
        return Value(out, ((self, -out / self.data),), lambda: (-(self.reciprocal() ** 2),))

    def __pow__(self, exponent):
        if isinstance(exponent, Value):
            return power(self, exponent)
        out = math.pow(self.data, exponent)
        slope = slope_in_base(self.data, exponent, out)
        return Value(
            out,
            ((self, slope),),
            lambda: (exponent * self ** (exponent - 1) if exponent else 0.0,),
        )

    def __rpow__(self, base):
        return power(Value(base), self)

    def exp(self):
        out = math.exp(self.data)
        return Value(out, ((self, out),), lambda: (self.exp(),))

    def log(self):
        return Value(math.log(self.data), ((self, 1 / self.data),), lambda: (self.reciprocal(),))

    def sqrt(self):
        out = math.sqrt(self.data)
        slope = 0.5 / out if out else math.inf
        return Value(out, ((self, slope),), lambda: (0.5 / self.sqrt(),))

    def tanh(self):
        out = math.tanh(self.data)
        return Value(out, ((self, (1 + out) * (1 - out)),), lambda: (1 - self.tanh() ** 2,))

    def sigmoid(self):
        if self.data > 0:
            out = 1 / (1 + math.exp(-self.data))
        else:
            out = math.exp(self.data) / (1 + math.exp(self.data))
        slope = out * (1 - out)
        return Value(out, ((self, slope),), lambda: (self.sigmoid() - self.sigmoid() ** 2,))

    def relu(self):
        slope = 1.0 if self.data > 0 else 0.0
        return Value(self.data if slope else 0.0, ((self, slope),), lambda: (slope,))

    def sin(self):
        pairs = ((self, math.cos(self.data)),)
        return Value(math.sin(self.data), pairs, lambda: (self.cos(),))

    def cos(self):
        pairs = ((self, -math.sin(self.data)),)
        return Value(math.cos(self.data), pairs, lambda: (-self.sin(),))

    def backward(self):
        order = topological_order(self)
        for node in order:
            if node.pairs:
                node.grad = 0.0
        self.grad += 1.0
        while order:
            node = order.pop()
            for parent, slope in node.pairs:
                parent.grad += node.grad * slope


def power(base, exponent):
    """Return base ** exponent, both of them Values."""
    x, n = base.data, exponent.data
    out = math.pow(x, n)
    slope_in_exponent = out * math.log(x) if x > 0 else 0.0 if x == 0 else math.nan

    def slopes():
        in_base = exponent * base ** (exponent - 1) if x or n else 0.0
        in_exponent = base**exponent * base.log() if x > 0 else slope_in_exponent
        return in_base, in_exponent

    pairs = (base, slope_in_base(x, n, out)), (exponent, slope_in_exponent)
    return Value(out, pairs, slopes)


def slope_in_base(x, n, out):
    """Return n x ** (n - 1), given out = x ** n; infinite, not an error, where it is too large."""
    if x:
        return n * (out / x)
    return math.inf if 0 < n < 1 else 1.0 if n == 1 else 0.0


def topological_order(root):
    """Return the nodes level by level from the leaves: one is ready once its parents are placed."""
    users, waiting, ready, found = {}, {}, deque(), [root]
    users[id(root)] = []
    for node in found:  # grows as it is read
        parents = node.parents
        waiting[id(node)] = len(parents)
        for parent in parents:
            if id(parent) not in users:
                users[id(parent)] = []
                found.append(parent)
            users[id(parent)].append(node)
        if not parents:
            ready.append(node)
    order = []
    while ready:
        node = ready.popleft()
        order.append(node)
        for user in users[id(node)]:
            waiting[id(user)] -= 1
            if waiting[id(user)] == 0:
                ready.append(user)
    return order


def gradient_check(f, xs, step=1e-5, tolerance=1e-5):
    """Return whether `backward` and central differences agree in every input of f."""

    def slope(i):
        sides = [
            f(*[Value(x + h if i == j else x) for j, x in enumerate(xs)]) for h in (step, -step)
        ]
        return (sides[0].data - sides[1].data) / (2 * step)

    inputs = [Value(x) for x in xs]
    f(*inputs).backward()
    slopes = [slope(i) for i in range(len(xs))]
    return all(abs(x.grad - s) <= tolerance * max(1, abs(s)) for x, s in zip(inputs, slopes))


def gradients(output, inputs):
    """Sum over paths with the slopes as Values, so that the sums have graphs of their own."""
    totals = {id(output): Value(1.0)}
    for node in reversed(topological_order(output)):
        if node.pairs:
            upstream = totals[id(node)]
            for parent, slope in zip(node.parents, node.slopes()):
                share = upstream * slope
                key = id(parent)
                totals[key] = totals[key] + share if key in totals else share
    return [totals[id(x)] if id(x) in totals else Value(0.0) for x in inputs]


def number(x):
    """Return the plain number in x."""
    return x.data if isinstance(x, Value) else x
