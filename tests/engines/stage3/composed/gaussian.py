"""The error function from Tensor operations."""

import math

TERMS = 160


def erf(x):
    """Return 2 / sqrt(pi) * exp(-x ** 2) * (x + 2 x ** 3 / 3 + 4 x ** 5 / 15 + ...).

    All terms have one sign, so that nothing cancels. For |x| <= 6, 160 of them are enough.
    """
    term = total = x * 1.0
    square = x * x * 2.0
    for n in range(1, TERMS):
        term = term * square * (1 / (2 * n + 1))
        total = total + term
    return total * (square * -0.5).exp() * (2 / math.sqrt(math.pi))
