"""How long a class stays unseen when clients are drawn at random: the price of not choosing."""

from __future__ import annotations

import numpy as np

from callup.core.errors import UsageError


def chance_missing(holders: np.ndarray, clients: int, k: int) -> np.ndarray:
    """The chance that none of a class's holders is among k clients drawn uniformly without replacement; any shape.

    C(N - m, k) / C(N, k), as a product of k factors.

    >>> chance_missing(np.array([1, 5, 10]), 10, 5).round(6)
    array([0.5     , 0.003968, 0.      ])
    """
    if not 1 <= k <= clients:
        raise UsageError(f"k must be from 1 to the {clients} clients there are, got {k}")
    drawn = np.arange(k)
    left = np.asarray(holders)[..., None]
    return np.asarray(np.prod(np.maximum(clients - left - drawn, 0) / (clients - drawn), axis=-1))


def rounds_until_seen(holders: np.ndarray, clients: int, k: int) -> np.ndarray:
    """The mean number of rounds until a holder is drawn for the first time, the round itself counted; inf for nobody.

    >>> rounds_until_seen(np.array([1, 0]), 50, 5)
    array([10., inf])
    """
    missing = chance_missing(holders, clients, k)
    with np.errstate(divide="ignore"):
        return np.asarray(1.0 / (1.0 - missing))
