# Generated from solutions/stage1_autodiff/dual.py. The bodies are yours to write.
"""Forward mode: derivatives that travel with the numbers, no graph and no backward pass."""



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
        raise NotImplementedError("1.12 Dual.__add__")

    def __mul__(self, other):
        """Return self * other, by the product rule; `other` is a Dual or a number."""
        raise NotImplementedError("1.12 Dual.__mul__")

    def __pow__(self, exponent):
        """Return self ** exponent, where `exponent` is a number; x ** 0 has tangent 0."""
        raise NotImplementedError("1.12 Dual.__pow__")

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
        raise NotImplementedError("1.12 Dual.exp")

    def log(self):
        """Return the natural logarithm of self."""
        raise NotImplementedError("1.12 Dual.log")

    def tanh(self):
        """Return the hyperbolic tangent of self."""
        raise NotImplementedError("1.12 Dual.tanh")

    def sin(self):
        """Return the sine of self, in radians."""
        raise NotImplementedError("1.12 Dual.sin")


def lift(x):
    """Return x as a Dual: a number becomes a constant."""
    return x if isinstance(x, Dual) else Dual(x)


def derivative(f, x):
    """Return f'(x), a number: f takes a Dual and returns a Dual or a number."""
    raise NotImplementedError("1.12 derivative")
