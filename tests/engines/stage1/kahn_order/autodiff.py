"""Gradients are Values always: `backward` runs the same rules as `gradients`, but unrecorded.

Nodes are visited in Kahn's order from the result down, counting uses, rightmost parent first.
Data are floats, whatever was passed in.
"""

import math
from collections import Counter, deque
from contextlib import contextmanager


class Value:
    """A float, what it was made of, and the rule that pulls a gradient back to there."""

    recording = True

    def __init__(self, data):
        self.data = float(data)
        self.grad = 0.0
        self.parents = ()  # a list where there are any
        self._pull = None

    @classmethod
    def _record(cls, data, parents, pull):
        """Return a new Value; `pull` takes (upstream, result), Values, and returns Values."""
        value = cls(data)
        if cls.recording:
            value.parents = parents
            value._pull = pull
        return value

    def __repr__(self):
        return f"Value(data={self.data}, grad={self.grad})"

    def __add__(self, other):
        other = value_of(other)
        return self._record(self.data + other.data, [self, other], lambda up, out: [up, up])

    def __mul__(self, other):
        other = value_of(other)

        def pull(up, out):
            return [up * other, up * self]

        return self._record(self.data * other.data, [self, other], pull)

    def __neg__(self):
        return self._record(-self.data, [self], lambda up, out: [-up])

    def inverse(self):
        return self._record(1.0 / self.data, [self], lambda up, out: [-(up * out * out)])

    def __pow__(self, exponent):
        exponent = value_of(exponent)
        x, n = self.data, exponent.data

        def pull(up, out):
            in_base = up * exponent * self ** (exponent + -1) if x or n else Value(0)
            if x > 0:
                return [in_base, up * out * self.log()]
            return [in_base, up * (0.0 if x == 0 else math.nan)]

        return self._record(math.pow(x, n), [self, exponent], pull)

    def __sub__(self, other):
        return self + -value_of(other)

    def __truediv__(self, other):
        return self * value_of(other).inverse()

    def __radd__(self, other):
        return value_of(other) + self

    def __rsub__(self, other):
        return value_of(other) - self

    def __rmul__(self, other):
        return value_of(other) * self

    def __rtruediv__(self, other):
        return value_of(other) / self

    def __rpow__(self, other):
        return value_of(other) ** self

    def exp(self):
        return self._record(math.exp(self.data), [self], lambda up, out: [up * out])

    def log(self):
        return self._record(math.log(self.data), [self], lambda up, out: [up / self])

    def sqrt(self):
        return self._record(math.sqrt(self.data), [self], lambda up, out: [up / (out + out)])

    def tanh(self):
        return self._record(math.tanh(self.data), [self], lambda up, out: [up - up * out * out])

    def sigmoid(self):
        return ((self * 0.5).tanh() + 1) * 0.5

    def relu(self):
        gate = 1.0 if self.data > 0 else 0.0
        return self._record(max(0.0, self.data), [self], lambda up, out: [up * gate])

    def sin(self):
        return self._record(math.sin(self.data), [self], lambda up, out: [up * self.cos()])

    def cos(self):
        return self._record(math.cos(self.data), [self], lambda up, out: [-(up * self.sin())])

    def backward(self):
        with unrecorded():
            found = pull_back(self)
        for node, gradient in found:
            # Leaves add up over calls; a computed value shows this call's gradient.
            node.grad = gradient.data if node.parents else node.grad + gradient.data


@contextmanager
def unrecorded():
    """Let operations inside compute their number and remember nothing."""
    before, Value.recording = Value.recording, False
    try:
        yield
    finally:
        Value.recording = before


def value_of(x):
    return x if isinstance(x, Value) else Value(x)


def number(x):
    """Return the plain number in x."""
    return x.data if isinstance(x, Value) else x


def uses(root):
    """Return how often each node under `root` is a parent, by id."""
    counts, reached = Counter(), [root]
    while reached:
        for parent in reached.pop().parents:
            counts[id(parent)] += 1
            if counts[id(parent)] == 1:
                reached.append(parent)
    return counts


def topological_order(root):
    """Return the nodes under `root`, parents first: Kahn's algorithm from the result, reversed."""
    left, ready, order = uses(root), deque([root]), deque()
    while ready:
        node = ready.popleft()
        order.appendleft(node)
        for parent in reversed(list(node.parents)):
            left[id(parent)] -= 1
            if left[id(parent)] == 0:
                ready.append(parent)
    return list(order)


def pull_back(output):
    """Return (node, d(output)/d(node)) for all nodes under `output`, the gradients as Values."""
    nodes = topological_order(output)
    received = {id(node): [] for node in nodes}
    received[id(output)].append(Value(1))
    found = []
    for node in reversed(nodes):
        first, *others = received.pop(id(node))
        gradient = sum(others, first)
        found.append((node, gradient))
        if node.parents:
            for parent, share in zip(node.parents, node._pull(gradient, node)):
                received[id(parent)].append(share)
    return found


def gradients(output, inputs):
    """Return d(output)/d(input) for each input, recorded."""
    found = {id(node): gradient for node, gradient in pull_back(output)}
    return [found.get(id(x)) or Value(0) for x in inputs]


def gradient_check(f, xs, step=1e-5, tolerance=1e-5):
    """Return whether `backward` and central differences agree in every input of f."""
    inputs = list(map(Value, xs))
    f(*inputs).backward()

    def agrees(i):
        def at(x):
            return f(*[Value(x if j == i else y) for j, y in enumerate(xs)]).data

        slope = (at(xs[i] + step) - at(xs[i] - step)) / (2 * step)
        return abs(inputs[i].grad - slope) <= tolerance * max(1.0, abs(slope))

    return all(agrees(i) for i in range(len(xs)))
