import math

import numpy as np

share = np.vectorize(lambda x: math.erfc(-x / math.sqrt(2)) / 2, otypes=[float])


def normal(x):
    """Return Phi and phi of an array, in float64."""
    x = np.asarray(x, float)
    with np.errstate(over="ignore"):
        return share(x), np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
