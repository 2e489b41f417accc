"""Forward mode where every rule is a primitive and x - y comes before x + y."""

import math


class Dual:
    """A number and how fast it changes."""

    __slots__ = ("data", "tangent")

    def __init__(self, data, tangent=0.0):
        self.data = data
        self.tangent = tangent

    def __repr__(self):
        return f"Dual({self.data}, {self.tangent})"

    def __neg__(self):
        return Dual(-self.data, -self.tangent)

    def __sub__(self, other):
        other = lift(other)
        return Dual(self.data - other.data, self.tangent - other.tangent)

    def __rsub__(self, other):
        return lift(other) - self

    def __add__(self, other):
        return self - -lift(other)

    def __radd__(self, other):
        return lift(other) + self

    def __mul__(self, other):
        other = lift(other)
        tangent = self.tangent * other.data + other.tangent * self.data
        return Dual(self.data * other.data, tangent)

    def __rmul__(self, other):
        return lift(other) * self

    def __truediv__(self, other):
        other = lift(other)
        quotient = self.data / other.data
        return Dual(quotient, (self.tangent - quotient * other.tangent) / other.data)

    def __rtruediv__(self, other):
        return lift(other) / self

    def __pow__(self, exponent):
        power = math.pow(self.data, exponent)
        if exponent == 0:
            return Dual(power, 0.0 * self.tangent)
        return Dual(power, exponent * math.pow(self.data, exponent - 1) * self.tangent)

    def exp(self):
        out = math.exp(self.data)
        return Dual(out, out * self.tangent)

    def log(self):
        return Dual(math.log(self.data), self.tangent / self.data)

    def tanh(self):
        out = math.tanh(self.data)
        return Dual(out, (1 + out) * (1 - out) * self.tangent)

    def sin(self):
        return Dual(math.sin(self.data), math.cos(self.data) * self.tangent)


def lift(x):
    """Return x as a Dual: a number becomes a constant."""
    if isinstance(x, Dual):
        return x
    return Dual(x, 0.0)


def derivative(f, x):
    """Return f'(x) for an f of one Dual."""
    return lift(f(Dual(x, 1.0))).tangent
