"""Hoeffding's inequality: how rare a client's vector would be if its data were everybody's (FedACS).

Wang et al., IWQoS 2021, Section III and Appendix C. Everything is in logarithms: over the thousands of dimensions of
a network the product P_i leaves the range of floats at once.
"""

from __future__ import annotations

import math

import numpy as np

_LN2 = math.log(2.0)


def log_tail(deviation: np.ndarray, samples: np.ndarray | float, span: float) -> np.ndarray:
    """ln of the bound on P(|mean - expectation| >= deviation) for so many samples, each within an interval `span` wide.

    Eq. 5 with one interval for all, which is Eq. 12. It holds for every deviation; above 0 it says nothing.

    >>> log_tail(np.array([1.0]), samples=8, span=2.0).round(4)
    array([-3.3069])
    """
    # ln P_i^k = ln 2 - 2 eps^2 M / (b - a)^2
    return log_p(deviation, samples, span, dimensions=1)


def log_p(distance: np.ndarray, samples: np.ndarray | float, span: float, dimensions: int) -> np.ndarray:
    """ln P_i from each client's distance to the mean vector: the product of the bounds over all dimensions.

    P_i ranks clients, it is no probability: it runs up to 2^K for K dimensions.
    """
    # Eq. 24: ln P_i = K ln 2 - 2 M / (b_max - a_min)^2 sum_k eps_k^2, and the sum is the squared distance (Eq. 13).
    # A span of 0 is that of vectors that are all the same, none of which deviates.
    relative = np.asarray(distance, np.float64) / span if span > 0 else np.zeros_like(distance, np.float64)
    return np.asarray(dimensions * _LN2 - 2.0 * np.asarray(samples, np.float64) * relative**2)


def q_from_log_p(log_p: np.ndarray, samples: np.ndarray | float, span: float, dimensions: int) -> np.ndarray:
    """Q_i, the inverse of `log_p`: for clients of equally many samples, the distance itself.

    Digits that K ln 2 swallowed are lost; where the distance is at hand, use it.
    """
    # Eqs. 25 and 26 print K ln 2 - P_i; the logarithm of Eq. 24 gives K ln 2 - ln P_i.
    squared = (dimensions * _LN2 - np.asarray(log_p, np.float64)) * span**2 / (2.0 * np.asarray(samples, np.float64))
    return np.asarray(np.sqrt(np.maximum(squared, 0.0)))
