"""Class coverage: how soon the clients that trained had, together, shown the model every class."""

from __future__ import annotations

import numpy as np

from callup.core.errors import InputError


def first_seen(class_counts: np.ndarray) -> np.ndarray:
    """The first round, counted from 1, in which each class was trained on; NaN for a class never seen.

    `class_counts[t, b]` is how many samples of class b the clients of round t+1 hold.

    >>> first_seen(np.array([[5, 0, 0], [2, 0, 3]]))
    array([ 1., nan,  2.])
    """
    seen = _table(class_counts) > 0
    if len(seen) == 0:
        return np.full(seen.shape[1], np.nan)
    return np.where(seen.any(axis=0), seen.argmax(axis=0) + 1.0, np.nan)


def covered(class_counts: np.ndarray) -> np.ndarray:
    """The share of classes seen by the end of each round.

    >>> covered(np.array([[5, 0, 0, 0], [2, 0, 3, 0]]))
    array([0.25, 0.5 ])
    """
    seen = _table(class_counts) > 0
    return np.asarray(np.logical_or.accumulate(seen, axis=0).mean(axis=1))


def _table(class_counts: np.ndarray) -> np.ndarray:
    table = np.asarray(class_counts, np.float64)
    if table.ndim != 2 or table.shape[1] == 0:
        raise InputError(f"class counts must have shape (rounds, classes), got {table.shape}")
    return table
