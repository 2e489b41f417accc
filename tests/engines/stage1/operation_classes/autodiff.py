"""An operation is a class: `forward` saves what `backward` needs, and a Value holds its operation.

Both methods are written for numbers and Values alike: to differentiate twice, `gradients` runs an
operation's `forward` again on the Values themselves.
"""

import math

OPEN, DONE = "open", "done"


class Operation:
    """What made a value; one object per use, with its inputs and what it saved."""

    inputs = ()

    @classmethod
    def apply(cls, *xs):
        operation = cls()
        operation.inputs = tuple(x if isinstance(x, Value) else Value(x) for x in xs)
        return Value(operation.forward(*[x.data for x in operation.inputs]), operation)

    def save(self, *saved):
        self.saved = saved

    def forward(self, *xs):
        raise NotImplementedError

    def backward(self, upstream):
        raise NotImplementedError


class Add(Operation):
    def forward(self, a, b):
        return a + b

    def backward(self, upstream):
        return upstream, upstream


class Subtract(Operation):
    def forward(self, a, b):
        return a - b

    def backward(self, upstream):
        return upstream, -upstream


class Mul(Operation):
    def forward(self, a, b):
        self.save(a, b)
        return a * b

    def backward(self, upstream):
        a, b = self.saved
        return upstream * b, upstream * a


class Divide(Operation):
    def forward(self, a, b):
        quotient = a / b
        self.save(b, quotient)
        return quotient

    def backward(self, upstream):
        b, quotient = self.saved
        share = upstream / b
        return share, -share * quotient


class Pow(Operation):
    def forward(self, base, exponent):
        power = base**exponent if isinstance(base, Value) else math.pow(base, exponent)
        self.save(base, exponent, power)
        return power

    def backward(self, upstream):
        base, exponent, power = self.saved
        x = number(base)
        flat = x == 0 and number(exponent) == 0
        in_base = 0.0 if flat else exponent * base ** (exponent - 1)
        in_exponent = 0.0 if x == 0 else math.nan
        if x > 0:
            in_exponent = power * call("log", base)
        return upstream * in_base, upstream * in_exponent


class Negate(Operation):
    def forward(self, a):
        return -a

    def backward(self, upstream):
        return (-upstream,)


class Exp(Operation):
    def forward(self, a):
        power = call("exp", a)
        self.save(power)
        return power

    def backward(self, upstream):
        (power,) = self.saved
        return (upstream * power,)


class Log(Operation):
    def forward(self, a):
        self.save(a)
        return call("log", a)

    def backward(self, upstream):
        (a,) = self.saved
        return (upstream / a,)


class Sqrt(Operation):
    def forward(self, a):
        root = call("sqrt", a)
        self.save(root)
        return root

    def backward(self, upstream):
        (root,) = self.saved
        return (upstream * 0.5 / root,)


class Tanh(Operation):
    def forward(self, a):
        t = call("tanh", a)
        self.save(t)
        return t

    def backward(self, upstream):
        (t,) = self.saved
        return (upstream - upstream * t * t,)


class Sigmoid(Operation):
    def forward(self, a):
        if isinstance(a, Value):
            s = a.sigmoid()
        else:
            s = 1 / (1 + math.exp(-a)) if a > -700 else math.exp(a)
        self.save(s)
        return s

    def backward(self, upstream):
        (s,) = self.saved
        return (upstream * s * (1 - s),)


class Relu(Operation):
    def forward(self, a):
        self.save(1.0 if number(a) > 0 else 0.0)
        return a if number(a) > 0 else 0.0

    def backward(self, upstream):
        (gate,) = self.saved
        return (upstream * gate,)


class Sin(Operation):
    def forward(self, a):
        self.save(a)
        return call("sin", a)

    def backward(self, upstream):
        (a,) = self.saved
        return (upstream * call("cos", a),)


class Cos(Operation):
    def forward(self, a):
        self.save(a)
        return call("cos", a)

    def backward(self, upstream):
        (a,) = self.saved
        return (-upstream * call("sin", a),)


class Value:
    """A number, its gradient and the operation it came from; None for a leaf."""

    def __init__(self, data, operation=None):
        self.data = data
        self.grad = 0.0
        self.operation = operation

    @property
    def parents(self):
        return self.operation.inputs if self.operation else ()

    def __repr__(self):
        return f"Value(data={self.data}, grad={self.grad})"

    def __add__(self, other):
        return Add.apply(self, other)

    def __radd__(self, other):
        return Add.apply(other, self)

    def __sub__(self, other):
        return Subtract.apply(self, other)

    def __rsub__(self, other):
        return Subtract.apply(other, self)

    def __mul__(self, other):
        return Mul.apply(self, other)

    def __rmul__(self, other):
        return Mul.apply(other, self)

    def __truediv__(self, other):
        return Divide.apply(self, other)

    def __rtruediv__(self, other):
        return Divide.apply(other, self)

    def __pow__(self, exponent):
        return Pow.apply(self, exponent)

    def __rpow__(self, base):
        return Pow.apply(base, self)

    def __neg__(self):
        return Negate.apply(self)

    def exp(self):
        return Exp.apply(self)

    def log(self):
        return Log.apply(self)

    def sqrt(self):
        return Sqrt.apply(self)

    def tanh(self):
        return Tanh.apply(self)

    def sigmoid(self):
        return Sigmoid.apply(self)

    def relu(self):
        return Relu.apply(self)

    def sin(self):
        return Sin.apply(self)

    def cos(self):
        return Cos.apply(self)

    def backward(self):
        order = topological_order(self)
        grads = {self: 1.0}
        for node in reversed(order):
            if node.operation:
                for x, grad in zip(node.parents, node.operation.backward(grads[node])):
                    grads[x] = grads.get(x, 0.0) + grad
        for node, grad in grads.items():
            node.grad = grad if node.operation else node.grad + grad


def topological_order(root):
    """Return the nodes under `root`, parents first; a node stays on the stack while it is open."""
    order, state, stack = [], {}, [root]
    while stack:
        node = stack[-1]
        if id(node) not in state:
            state[id(node)] = OPEN
            stack += [parent for parent in node.parents if id(parent) not in state]
        else:
            stack.pop()
            if state[id(node)] == OPEN:
                state[id(node)] = DONE
                order.append(node)
    return order


def gradient_check(f, xs, step=1e-5, tolerance=1e-5):
    """Return whether `backward` and central differences agree in every input of f."""
    inputs = [Value(x) for x in xs]
    f(*inputs).backward()
    for i, x in enumerate(xs):
        above = f(*[Value(y) for y in [*xs[:i], x + step, *xs[i + 1 :]]]).data
        below = f(*[Value(y) for y in [*xs[:i], x - step, *xs[i + 1 :]]]).data
        slope = (above - below) / (2 * step)
        allowed = tolerance * max(1, abs(slope))
        if not -allowed <= inputs[i].grad - slope <= allowed:
            return False
    return True


def gradients(output, inputs):
    """Run each operation again, on Values: what it saves and sends back is then recorded."""
    found = {output: Value(1.0)}
    for node in reversed(topological_order(output)):
        if node.operation:
            again = type(node.operation)()
            again.forward(*node.parents)
            for x, grad in zip(node.parents, again.backward(found[node])):
                found[x] = found[x] + grad if x in found else grad
    return [found.get(x) or Value(0.0) for x in inputs]


def number(x):
    """Return the plain number in x."""
    return x.data if isinstance(x, Value) else x


def call(name, x):
    """Return the function of that name of x: Value's own, or the one in `math`."""
    return getattr(x, name)() if isinstance(x, Value) else getattr(math, name)(x)
