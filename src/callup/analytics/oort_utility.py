"""Parts of a client's score in Oort: its utility against the others', how long ago that was, and its speed.

Lai et al., OSDI 2021, Section 4.2-4.4 and Algorithm 1.
"""

from __future__ import annotations

import numpy as np

_LEAST_RANGE = 1e-4


def ceiling(utilities: np.ndarray, quantile: float) -> float:
    """The value above which utilities are cut; infinite with none of them.

    Below 1 the quantile is never the largest value, so that one client cannot set the scale for all: of fewer than
    about 1 / (1 - quantile) values the plain quantile is just that.

    >>> ceiling(np.array([3.0, 1.0, 1e30, 2.0]), 0.95)
    3.0
    """
    n = len(utilities)
    if n == 0:
        return np.inf
    highest = n - 1 if quantile >= 1 or n == 1 else n - 2
    place = min(int(n * quantile), highest)
    return float(np.partition(utilities, place)[place])


def on_one_scale(utilities: np.ndarray, others: np.ndarray, quantile: float) -> np.ndarray:
    """Utilities cut at the quantile of `others` and mapped linearly: 0.999 of their least is 0, the cut is 1.

    >>> on_one_scale(np.array([1.0, 2.0, 1e30]), np.array([0.0, 1.0, 2.0, 1e30]), 0.95)
    array([0.5, 1. , 1. ])
    """
    if not len(others):
        return np.zeros(len(utilities))
    top, low = ceiling(others, quantile), 0.999 * float(others.min())
    cut = np.clip(utilities, low, top)
    return np.asarray((cut - low) / max(top - low, _LEAST_RANGE))


def uncertainty(index: int, last: np.ndarray) -> np.ndarray:
    """Line 10: sqrt(0.1 ln R / L_i), the more the longer ago the client's last round L_i lies."""
    return np.asarray(np.sqrt(0.1 * np.log(index) / last))


def slowness(seconds: np.ndarray, preferred: float, alpha: float) -> np.ndarray:
    """Lines 11-12: (T / t_i)^alpha for clients slower than T, 1 for the others and where NaN says nothing is known.

    >>> slowness(np.array([5.0, 10.0, 20.0, np.nan]), 10.0, 2.0)
    array([1.  , 1.  , 0.25, 1.  ])
    """
    slow = seconds > preferred
    share = np.ones(len(seconds))
    np.divide(preferred, seconds, out=share, where=slow)
    return np.asarray(share**alpha)
