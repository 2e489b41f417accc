# Generated from solutions/stage3_nn/gaussian.py. The bodies are yours to write.
"""The normal distribution on arrays: its density phi, and the share Phi that lies below a value."""

import math

import numpy as np

STEPS = 1024  # points of the tables between two whole numbers
REACH = 9  # beyond it, Phi is 0 or 1 to 1e-18


def density(x):
    """Return phi(x) = exp(-x ** 2 / 2) / sqrt(2 pi)."""
    return np.exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi))


def taylor_tables():
    """Return the coefficients of d ** 3, d ** 2, d and 1 in Phi(p + d), at all points p.

    Phi' = phi, phi' = -p phi, phi'' = (p ** 2 - 1) phi; math.erfc gives Phi(p).
    """
    p = np.arange(-REACH * STEPS, REACH * STEPS + 1) / STEPS
    share = np.array([math.erfc(-x / math.sqrt(2)) / 2 for x in p.tolist()])
    tables = np.array([(p * p - 1) * density(p) / 6, -p * density(p) / 2, density(p), share])
    tables[:, [0, -1]] = [[0, 0], [0, 0], [0, 0], [0, 1]]
    return tables


TABLES = {np.float64: taylor_tables()}
TABLES[np.float32] = TABLES[np.float64][1:].astype(np.float32)  # d ** 3 is below its precision


@np.errstate(invalid="ignore")
def share_below(x):
    """Return Phi(x) = (1 + erf(x / sqrt(2))) / 2, to 2e-15 in float64.

    numpy has no erf, and math.erf takes one number at a time. So it is looked up
    at the nearest point of a table, and Taylor's series leads from there to x.
    """
    x = np.clip(x, -REACH, REACH)
    nearest = np.rint((x + REACH) * STEPS)
    d, index = x - (nearest / STEPS - REACH), nearest.astype(np.intp)
    share = np.zeros_like(d)
    for coefficients in TABLES.get(x.dtype.type, TABLES[np.float64]):
        share *= d
        share += coefficients.take(index, mode="clip")  # NaN has no index, but a NaN for d
    return share
