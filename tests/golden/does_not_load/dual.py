"""Forward mode: derivatives that travel with the numbers, no graph and no backward pass."""

import math


class Dual:
    """A number and its tangent: how fast it changes when one input changes.

    Attributes:
        data: the number.
        tangent: d(data)/d(input).
    """

    def __init__(self, data, tangent=0.0):
        """Hold both; a constant has the tangent 0."""
        self.data = data
        self.tangent = tangent

    def __repr__(self):
        return f"Dual({self.data}, {self.tangent})"

    def __add__(self, other):
        """Return self + other; `other` is a Dual or a number."""
        other = lift(other)
        return Dual(self.data + other.data, self.tangent + other.tangent)

    def __mul__(self, other):
        """Return self * other, by the product rule; `other` is a Dual or a number."""
        other = lift(other)
        tangent = self.tangent * other.data + self.data * other.tangent
        return Dual(self.data * other.data, tangent)

    def __pow__(self, exponent):
        """Return self ** exponent, where `exponent` is a number; x ** 0 has tangent 0."""
        slope = exponent * self.data ** (exponent - 1) if exponent != 0 else 0.0
        return Dual(self.data**exponent, slope * self.tangent)

    def __neg__(self):
        return self * -1.0

    def __sub__(self, other):
        return self + (-other)

    def __truediv__(self, other):
        return self * lift(other) ** -1

    def __rsub__(self, other):
        return -self + other

    def __rtruediv__(self, other):
        return self**-1 * other

    __radd__ = __add__
    __rmul__ = __mul__

    def exp(self):
        """Return e ** self."""
        return Dual(math.exp(self.data), math.exp(self.data) * self.tangent)

    def log(self):
        """Return the natural logarithm of self."""
        return Dual(math.log(self.data), self.tangent / self.data)

    def tanh(self):
        """Return the hyperbolic tangent of self."""
        out = math.tanh(self.data)
        return Dual(out, (1 - out * out) * self.tangent)

    def sin(self):
        """Return the sine of self, in radians."""
        return Dual(math.sin(self.data), math.cos(self.data) * self.tangent)


def lift(x):
    """Return x as a Dual: a number becomes a constant."""
    return x if isinstance(x, Dual) else Dual(x)


def derivative(f, x):
    """Return f'(x), a number: f takes a Dual and returns a Dual or a number."""
    return lift(f(Dual(x, 1.0))).tangent
