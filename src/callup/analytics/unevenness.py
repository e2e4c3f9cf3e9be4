"""How uneven a federation is: how far each client's labels are from everybody's together, in three measures."""

from __future__ import annotations

import numpy as np

from callup.analytics.emd import distances
from callup.core.errors import InputError


def total_variation(counts: np.ndarray) -> np.ndarray:
    """The part of a client's samples that would have to change class to look like all clients' together; (N,) in 0..1.

    NaN for a client without samples.

    >>> total_variation(np.array([[8, 0], [2, 6]]))
    array([0.375, 0.375])
    """
    table = _table(counts)
    return np.where(table.any(axis=1), distances(table.sum(axis=0), table), np.nan)


def jensen_shannon(counts: np.ndarray) -> np.ndarray:
    """The divergence in bits between a client's labels and all clients' together; 0 for alike, 1 for nothing in common.

    Lin, IEEE Transactions on Information Theory, 1991. NaN for a client without samples.

    >>> jensen_shannon(np.array([[4, 4], [9, 9]]))
    array([0., 0.])
    """
    table = _table(counts)
    own, all_together = _shares(table), _shares(table.sum(axis=0)[None])
    between = _entropy((own + all_together) / 2) - (_entropy(own) + _entropy(all_together)) / 2
    return np.where(table.any(axis=1), np.maximum(between, 0.0) / np.log(2), np.nan)


def effective_classes(counts: np.ndarray) -> np.ndarray:
    """As many equally frequent classes would be as hard to guess as the client's own: e to the entropy.

    0 for a client without samples.

    >>> effective_classes(np.array([[5, 5, 0], [7, 0, 0], [0, 0, 0]])).round(6)
    array([2., 1., 0.])
    """
    table = _table(counts)
    return np.where(table.any(axis=1), np.exp(_entropy(_shares(table))), 0.0)


def effective_holders(counts: np.ndarray) -> np.ndarray:
    """The same for classes: as many equal clients would hold each class as evenly; (B,), 0 for a class nobody has.

    >>> effective_holders(np.array([[5, 9], [5, 0]])).round(6)
    array([2., 1.])
    """
    return effective_classes(_table(counts).T)


def _table(counts: np.ndarray) -> np.ndarray:
    table = np.asarray(counts, np.float64)
    if table.ndim != 2 or 0 in table.shape:
        raise InputError(f"class counts must have shape (clients, classes), got {table.shape}")
    return table


def _shares(table: np.ndarray) -> np.ndarray:
    return np.asarray(table / np.maximum(table.sum(axis=1, keepdims=True), 1e-300))


def _entropy(shares: np.ndarray) -> np.ndarray:
    """In nats."""
    return np.asarray(-np.sum(shares * np.log(np.where(shares > 0, shares, 1.0)), axis=1))
