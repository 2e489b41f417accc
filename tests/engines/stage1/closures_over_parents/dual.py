"""Forward mode with every operation, minus and divide too, written out by its own rule."""

import math


class Dual:
    """A number and its tangent."""

    def __init__(self, data, tangent=0.0):
        self.data = data
        self.tangent = tangent

    def __repr__(self):
        return f"Dual({self.data}, {self.tangent})"

    def __add__(self, other):
        b, db = pair(other)
        return Dual(self.data + b, self.tangent + db)

    def __sub__(self, other):
        b, db = pair(other)
        return Dual(self.data - b, self.tangent - db)

    def __mul__(self, other):
        b, db = pair(other)
        return Dual(self.data * b, self.data * db + self.tangent * b)

    def __truediv__(self, other):
        b, db = pair(other)
        return Dual(self.data / b, (self.tangent - self.data / b * db) / b)

    def __pow__(self, exponent):
        if exponent == 0:
            return Dual(1, 0)
        slope = exponent * self.data ** (exponent - 1)
        return Dual(self.data**exponent, slope * self.tangent)

    def __neg__(self):
        return Dual(-self.data, -self.tangent)

    def __radd__(self, other):
        return Dual(other) + self

    def __rsub__(self, other):
        return Dual(other) - self

    def __rmul__(self, other):
        return Dual(other) * self

    def __rtruediv__(self, other):
        return Dual(other) / self

    def exp(self):
        e = math.exp(self.data)
        return Dual(e, self.tangent * e)

    def log(self):
        return Dual(math.log(self.data), self.tangent / self.data)

    def tanh(self):
        t = math.tanh(self.data)
        return Dual(t, self.tangent * (1 - t**2))

    def sin(self):
        return Dual(math.sin(self.data), self.tangent * math.cos(self.data))


def pair(x):
    return (x.data, x.tangent) if isinstance(x, Dual) else (x, 0)


def lift(x):
    """Return x as a Dual: a number becomes a constant."""
    return Dual(*pair(x))


def derivative(f, x):
    """Return f'(x) for an f of one Dual."""
    _, tangent = pair(f(Dual(x, 1)))
    return tangent
