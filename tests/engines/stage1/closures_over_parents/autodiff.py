"""After micrograd: every operation leaves a closure that adds into its parents' `grad`.

The closure holds the parents, never its own result. Minus and divide are primitives, ints stay
ints, and a constant exponent is no parent.
"""

import math


class Value:
    """A number, its gradient, and the closure that hands the gradient on to its parents."""

    def __init__(self, data, _prev=(), _op=""):
        self.data = data
        self.grad = 0.0
        self._prev = tuple(_prev)
        self._op = _op
        self._backward = None

    @property
    def parents(self):
        return self._prev

    def __repr__(self):
        return f"Value(data={self.data}, grad={self.grad})"

    # A closure takes its node's gradient and `read`, which turns a parent into what the pass
    # reckons with: its number in `backward`, the Value itself in `gradients`.

    def __add__(self, other):
        other = as_value(other)
        out = Value(self.data + other.data, (self, other), "+")

        def _backward(grad, read):
            self.grad += grad
            other.grad += grad

        out._backward = _backward
        return out

    def __sub__(self, other):
        other = as_value(other)
        out = Value(self.data - other.data, (self, other), "-")

        def _backward(grad, read):
            self.grad += grad
            other.grad -= grad

        out._backward = _backward
        return out

    def __mul__(self, other):
        other = as_value(other)
        out = Value(self.data * other.data, (self, other), "*")

        def _backward(grad, read):
            self.grad += grad * read(other)
            other.grad += grad * read(self)

        out._backward = _backward
        return out

    def __truediv__(self, other):
        other = as_value(other)
        out = Value(self.data / other.data, (self, other), "/")

        def _backward(grad, read):
            self.grad += grad / read(other)
            other.grad -= grad * read(self) / read(other) / read(other)

        out._backward = _backward
        return out

    def __pow__(self, exponent):
        if isinstance(exponent, Value):
            return self._pow_of_values(exponent)
        out = Value(real_power(self.data, exponent), (self,), f"**{exponent}")

        def _backward(grad, read):
            if exponent != 0:
                self.grad += grad * (exponent * read(self) ** (exponent - 1))

        out._backward = _backward
        return out

    def _pow_of_values(self, exponent):
        out = Value(real_power(self.data, exponent.data), (self, exponent), "**")

        def _backward(grad, read):
            x, n = read(self), read(exponent)
            if self.data != 0 or exponent.data != 0:
                self.grad += grad * (n * x ** (n - 1))
            if self.data > 0:
                exponent.grad += grad * (x**n * log(x))
            elif self.data < 0:
                exponent.grad += grad * math.nan

        out._backward = _backward
        return out

    def __neg__(self):
        out = Value(-self.data, (self,), "neg")

        def _backward(grad, read):
            self.grad -= grad

        out._backward = _backward
        return out

    def __radd__(self, other):
        return Value(other) + self

    def __rsub__(self, other):
        return Value(other) - self

    def __rmul__(self, other):
        return Value(other) * self

    def __rtruediv__(self, other):
        return Value(other) / self

    def __rpow__(self, other):
        return Value(other) ** self

    def exp(self):
        return self._function(math.exp, lambda x: exp(x))

    def log(self):
        return self._function(math.log, lambda x: 1 / x)

    def sqrt(self):
        return self._function(math.sqrt, lambda x: 0.5 / sqrt(x))

    def tanh(self):
        return self._function(math.tanh, lambda x: 1 - tanh(x) ** 2)

    def sigmoid(self):
        return self._function(logistic, lambda x: sigmoid(x) * sigmoid(-x))

    def relu(self):
        return self._function(lambda x: max(x, 0), lambda x: 1 if number(x) > 0 else 0)

    def sin(self):
        return self._function(math.sin, lambda x: cos(x))

    def cos(self):
        return self._function(math.cos, lambda x: -sin(x))

    def _function(self, f, slope):
        out = Value(f(self.data), (self,), f.__name__)

        def _backward(grad, read):
            self.grad += grad * slope(read(self))

        out._backward = _backward
        return out

    def backward(self):
        nodes = topological_order(self)
        for node in nodes:
            if node._prev:
                node.grad = 0.0
        self.grad += 1.0
        for node in reversed(nodes):
            if node._backward:
                node._backward(node.grad, number)


def topological_order(root):
    """Return the nodes under `root`, parents first: two pushes per node, down and up again."""
    nodes, seen, todo = [], set(), [(root, False)]
    while todo:
        node, children_done = todo.pop()
        if children_done:
            nodes.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            todo.append((node, True))
            todo.extend((parent, False) for parent in node.parents)
    return nodes


def gradient_check(f, xs, step=1e-5, tolerance=1e-5):
    """Return whether `backward` and central differences agree in every input of f."""
    values = [Value(x) for x in xs]
    f(*values).backward()
    good = True
    for i in range(len(xs)):
        moved_up, moved_down = list(xs), list(xs)
        moved_up[i] += step
        moved_down[i] -= step
        rise = f(*map(Value, moved_up)).data - f(*map(Value, moved_down)).data
        slope = rise / (2 * step)
        good = good and abs(values[i].grad - slope) <= tolerance * max(1.0, abs(slope))
    return good


def gradients(output, inputs):
    """Run the closures once more with Values for gradients, then put the old gradients back."""
    nodes = topological_order(output)
    before = [node.grad for node in nodes]
    try:
        for node in nodes:
            node.grad = Value(0.0)
        output.grad = Value(1.0)
        for node in reversed(nodes):
            if node._backward:
                node._backward(node.grad, lambda value: value)
        found = {id(node): node.grad for node in nodes}
    finally:
        for node, grad in zip(nodes, before):
            node.grad = grad
    return [found.get(id(x), Value(0.0)) for x in inputs]


def as_value(x):
    return x if isinstance(x, Value) else Value(x)


def number(x):
    """Return the plain number in x."""
    return x.data if isinstance(x, Value) else x


def real_power(base, exponent):
    if base < 0 and not float(exponent).is_integer():
        raise ValueError(f"cannot raise {base} to {exponent}: not a whole exponent")
    return base**exponent


def logistic(x):
    small = math.exp(-abs(x))
    return small / (1 + small) if x < 0 else 1 / (1 + small)


# The functions that slopes are made of, for Values and plain numbers.


def exp(x):
    return x.exp() if isinstance(x, Value) else math.exp(x)


def log(x):
    return x.log() if isinstance(x, Value) else math.log(x)


def sqrt(x):
    return x.sqrt() if isinstance(x, Value) else math.sqrt(x)


def tanh(x):
    return x.tanh() if isinstance(x, Value) else math.tanh(x)


def sigmoid(x):
    return x.sigmoid() if isinstance(x, Value) else logistic(x)


def sin(x):
    return x.sin() if isinstance(x, Value) else math.sin(x)


def cos(x):
    return x.cos() if isinstance(x, Value) else math.cos(x)
