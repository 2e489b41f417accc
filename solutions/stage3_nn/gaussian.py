"""The normal distribution on arrays: its density, and the share that lies below a value."""

import math

import numpy as np

STEPS = 1024  # points of the table between two whole numbers
REACH = 9  # beyond it, the share is 0 or 1 to 1e-19
POINTS = np.arange(-REACH * STEPS, REACH * STEPS + 1) / STEPS
DENSITY = np.exp(-POINTS * POINTS / 2) / math.sqrt(2 * math.pi)
SHARE = np.array([math.erfc(-x / math.sqrt(2)) / 2 for x in POINTS.tolist()])
SHARE[[0, -1]], DENSITY[[0, -1]] = (0, 1), 0


def density(x):
    """Return phi(x) = exp(-x ** 2 / 2) / sqrt(2 pi)."""
    return np.exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi))


@np.errstate(invalid="ignore")
def share_below(x):
    """Return Phi(x) = (1 + erf(x / sqrt(2))) / 2, to 2e-15.

    numpy has no erf. At the nearest point p of the table, math.erfc gives Phi
    exactly; from there Taylor's series leads to x = p + d, as Phi' = phi,
    phi' = -p phi and phi'' = (p ** 2 - 1) phi. The next term is below 1e-14.
    """
    scaled = np.rint(np.clip(x, -REACH, REACH) * STEPS)
    p, index = scaled / STEPS, scaled.astype(np.intp) + REACH * STEPS
    d = x - p
    series = d * (1 - d * (p - (p * p - 1) * d * (1 / 3)) * 0.5)
    phi = DENSITY.astype(x.dtype).take(index, mode="clip")  # NaN has any index
    return SHARE.astype(x.dtype).take(index, mode="clip") + phi * series
