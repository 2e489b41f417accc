"""Forward mode by one helper: `combine` takes a value and its partial derivatives."""

import math


class Dual:
    """A float and its tangent."""

    def __init__(self, data, tangent=0.0):
        self.data = float(data)
        self.tangent = float(tangent)

    def __repr__(self):
        return f"Dual({self.data}, {self.tangent})"

    def __add__(self, other):
        other = lift(other)
        return combine(self.data + other.data, (self, 1.0), (other, 1.0))

    def __sub__(self, other):
        other = lift(other)
        return combine(self.data - other.data, (self, 1.0), (other, -1.0))

    def __mul__(self, other):
        other = lift(other)
        return combine(self.data * other.data, (self, other.data), (other, self.data))

    def __truediv__(self, other):
        other = lift(other)
        out = self.data / other.data
        return combine(out, (self, 1 / other.data), (other, -out / other.data))

    def __pow__(self, exponent):
        slope = exponent and exponent * self.data ** (exponent - 1)
        return combine(self.data**exponent, (self, slope))

    def __neg__(self):
        return combine(-self.data, (self, -1.0))

    def __radd__(self, other):
        return self + other

    def __rsub__(self, other):
        return lift(other) - self

    def __rmul__(self, other):
        return self * other

    def __rtruediv__(self, other):
        return lift(other) / self

    def exp(self):
        return combine(math.exp(self.data), (self, math.exp(self.data)))

    def log(self):
        return combine(math.log(self.data), (self, 1 / self.data))

    def tanh(self):
        return combine(math.tanh(self.data), (self, 1 - math.tanh(self.data) ** 2))

    def sin(self):
        return combine(math.sin(self.data), (self, math.cos(self.data)))


def combine(value, *terms):
    """Return `value` with the tangent that its (dual, partial derivative) terms add up to."""
    return Dual(value, sum(partial * dual.tangent for dual, partial in terms))


def lift(x):
    """Return x as a Dual: a number becomes a constant."""
    return x if isinstance(x, Dual) else Dual(x)


def derivative(f, x):
    """Return f'(x) for an f of one Dual."""
    return lift(f(Dual(x, 1))).tangent
