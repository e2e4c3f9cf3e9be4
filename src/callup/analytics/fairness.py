"""Fairness: how evenly calls are spread over clients, from how often each one was selected.

Count every client of the federation, also those never selected: their zeros are the point.
"""

from __future__ import annotations

import numpy as np

from callup.core.errors import InputError


def jain(selected: np.ndarray) -> float:
    """Jain's index: 1 when all were selected equally often, 1/n when one client took every place; NaN with no calls.

    Jain, Chiu, Hawe, DEC-TR-301, 1984: (sum x)^2 / (n sum x^2).

    >>> jain(np.array([4, 0, 0, 0]))
    0.25
    """
    calls = _calls(selected)
    squares = float((calls**2).sum())
    return float(calls.sum()) ** 2 / (len(calls) * squares) if squares else float("nan")


def gini(selected: np.ndarray) -> float:
    """Gini's coefficient: 0 when all were selected equally often, (n-1)/n when one took every place; NaN with no calls.

    Half the mean absolute difference between two clients, over the mean.

    >>> gini(np.array([4, 0, 0, 0]))
    0.75
    """
    calls = np.sort(_calls(selected))
    n, total = len(calls), float(calls.sum())
    # sum_ij |x_i - x_j| = 2 sum_i (2i - n - 1) x_(i), with x_(1) <= ... <= x_(n)
    return float((2 * np.arange(1, n + 1) - n - 1) @ calls) / (n * total) if total else float("nan")


def lorenz(selected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lorenz's curve: the share of clients, least selected first, and the share of calls they got; both from 0 to 1.

    >>> lorenz(np.array([3, 1]))
    (array([0. , 0.5, 1. ]), array([0.  , 0.25, 1.  ]))
    """
    calls = np.sort(_calls(selected))
    total = float(calls.sum())
    clients = np.arange(len(calls) + 1) / len(calls)
    if not total:
        return clients, np.full(len(calls) + 1, np.nan)
    return clients, np.concatenate([[0.0], np.cumsum(calls) / total])


def _calls(selected: np.ndarray) -> np.ndarray:
    calls = np.asarray(selected, np.float64)
    if calls.ndim != 1 or len(calls) == 0:
        raise InputError(f"selection counts need one number for each client, got shape {calls.shape}")
    bad = ~(np.isfinite(calls) & (calls >= 0))
    if bad.any():
        raise InputError(f"selection counts must be finite and not negative, got {calls[bad][0]:g}")
    return calls
