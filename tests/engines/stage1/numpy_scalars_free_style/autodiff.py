"""A Value carries the name of its operation; one function knows the derivatives of all names.

The order comes from a generator over a stack of iterators, gradients start as the int 0, and tanh
and sigmoid use formulas of their own.
"""

import math


class Value:
    """A number tagged with what made it: the name of an operation and its operands."""

    def __init__(self, data, op="leaf", args=()):
        self.data = data
        self.grad = 0
        self.op = op
        self.parents = args

    def __repr__(self):
        return f"Value(data={self.data}, grad={self.grad})"

    def __add__(self, other):
        return compute("add", self, other)

    def __radd__(self, other):
        return compute("add", other, self)

    def __sub__(self, other):
        return compute("sub", self, other)

    def __rsub__(self, other):
        return compute("sub", other, self)

    def __mul__(self, other):
        return compute("mul", self, other)

    def __rmul__(self, other):
        return compute("mul", other, self)

    def __truediv__(self, other):
        return compute("div", self, other)

    def __rtruediv__(self, other):
        return compute("div", other, self)

    def __pow__(self, exponent):
        return compute("pow", self, exponent)

    def __rpow__(self, base):
        return compute("pow", base, self)

    def __neg__(self):
        return compute("sub", 0, self)

    def exp(self):
        return compute("exp", self)

    def log(self):
        return compute("log", self)

    def sqrt(self):
        return compute("sqrt", self)

    def tanh(self):
        return compute("tanh", self)

    def sigmoid(self):
        return compute("sigmoid", self)

    def relu(self):
        return compute("relu", self)

    def sin(self):
        return compute("sin", self)

    def cos(self):
        return compute("cos", self)

    def backward(self):
        nodes = topological_order(self)
        for node in nodes:
            if node.op != "leaf":
                node.grad = 0
        self.grad += 1
        for node in nodes[::-1]:
            if node.op != "leaf":
                numbers = [parent.data for parent in node.parents]
                shares = pass_down(node.op, node.grad, node.data, *numbers)
                for parent, share in zip(node.parents, shares):
                    parent.grad = share + parent.grad


def compute(op, *args):
    """Return a new Value: the operation of that name on Values and numbers."""
    args = tuple(a if isinstance(a, Value) else Value(a) for a in args)
    return Value(evaluate(op, *[a.data for a in args]), op, args)


def evaluate(op, *numbers):
    """Return the plain number that the operation makes of plain numbers."""
    match op, numbers:
        case "add", (a, b):
            return a + b
        case "sub", (a, b):
            return a - b
        case "mul", (a, b):
            return a * b
        case "div", (a, b):
            return a / b
        case "pow", (a, b):
            if a < 0 and b % 1 != 0:
                raise ValueError(f"the negative base {a} takes whole exponents only, got {b}")
            return a**b
        case "tanh", (a,):
            # expm1 keeps its digits near 0, and a non-positive argument cannot overflow.
            shrunk = math.expm1(-2 * abs(a))
            return math.copysign(shrunk / (2 + shrunk), a)
        case "sigmoid", (a,):
            return math.exp(min(a, 0)) / (1 + math.exp(-abs(a)))
        case "relu", (a,):
            return max(a, 0)
        case "affine", (bias, *rest):
            half = len(rest) // 2
            for w, x in zip(rest[:half], rest[half:]):
                bias = bias + w * x
            return bias
        case _:
            return getattr(math, op)(*numbers)


def pass_down(op, g, out, *operands):
    """Return what each operand gets of g = d(loss)/d(out); all are numbers, or all are Values."""
    a, b, *_ = *operands, None
    match op:
        case "add":
            return g, g
        case "sub":
            return g, -1 * g
        case "mul":
            return g * b, g * a
        case "div":
            return g / b, g * a / b / b * -1
        case "pow":
            return g * slope_in_base(a, b), g * slope_in_exponent(a, out)
        case "exp":
            return (g * out,)
        case "log":
            return (g / a,)
        case "sqrt":
            return (g / out / 2,)
        case "tanh":
            return (g * (1 + out) * (1 - out),)
        case "sigmoid":
            return (g * (out - out * out),)
        case "relu":
            return (g * int(number(a) > 0),)
        case "sin":
            return (g * apply("cos", a),)
        case "cos":
            return (g * apply("sin", a) * -1,)
        case "affine":
            half = len(operands) // 2
            weights, inputs = operands[1 : half + 1], operands[half + 1 :]
            return g, *[g * x for x in inputs], *[g * w for w in weights]
    raise ValueError(f"no derivative for {op!r}")


def slope_in_base(base, exponent):
    if number(base) == 0 == number(exponent):
        return 0
    return exponent * base ** (exponent - 1)


def slope_in_exponent(base, out):
    if number(base) > 0:
        return out * apply("log", base)
    return 0 if number(base) == 0 else math.nan


def apply(op, x):
    """Return the operation of that name on a Value or on a number."""
    return compute(op, x) if isinstance(x, Value) else evaluate(op, x)


def number(x):
    """Return the plain number in x."""
    return x.data if isinstance(x, Value) else x


def walk(root):
    """Yield the nodes under `root`, parents first, each once."""
    seen = {id(root)}
    path = [(root, iter(root.parents))]
    while path:
        node, remaining = path[-1]
        for parent in remaining:
            if id(parent) not in seen:
                seen.add(id(parent))
                path.append((parent, iter(parent.parents)))
                break
        else:
            yield node
            path.pop()


def topological_order(root):
    """Return the list of nodes under `root`, parents first."""
    return list(walk(root))


def gradient_check(f, xs, step=1e-5, tolerance=1e-5):
    """Return whether `backward` and central differences agree in every input of f."""
    inputs = [Value(x) for x in xs]
    f(*inputs).backward()
    wrong = 0
    for i, value in enumerate(inputs):
        results = {}
        for sign in (1, -1):
            moved = [Value(x) for x in xs]
            moved[i].data += sign * step
            results[sign] = f(*moved).data
        slope = (results[1] - results[-1]) / (2 * step)
        wrong += not abs(slope - value.grad) <= tolerance * max(abs(slope), 1)
    return wrong == 0


def gradients(output, inputs):
    """Return d(output)/d(input) for each input, as Values with graphs of their own."""
    grads = {id(x): Value(0) for x in inputs}
    grads[id(output)] = Value(1)
    for node in topological_order(output)[::-1]:
        if node.op != "leaf":
            shares = pass_down(node.op, grads[id(node)], node, *node.parents)
            for parent, share in zip(node.parents, shares):
                grads[id(parent)] = share + grads.get(id(parent), 0)
    return [grads[id(x)] for x in inputs]
