"""Draws in proportion to contributions, which may be negative, old or unknown: the law of SVB and of influence."""

from __future__ import annotations

import numpy as np

from callup.core.errors import UsageError
from callup.core.per_client import PerClient


def check_memory(decay: float, floor: float, who: str) -> None:
    """Both are shares: decay below 1, or nothing new would ever count, and floor above 0, or the last would starve."""
    if not 0 <= decay < 1:
        raise UsageError(f"{who}: decay must be from 0 to below 1, got {decay:g}")
    if not 0 < floor < np.inf:
        raise UsageError(f"{who}: floor must be above 0 and finite, got {floor:g}")


def remember(means: PerClient, ids: np.ndarray, values: np.ndarray, decay: float) -> None:
    """mean <- decay mean + (1 - decay) value; the first value of a client is its mean."""
    share = np.where(means.knows(ids), decay, 0.0)
    means.set(ids, share * means.get(ids) + (1 - share) * values)


def recalled(means: PerClient, ids: np.ndarray) -> np.ndarray:
    """What each client is taken to contribute; the mean of all others where nothing is known, 0 where of nobody."""
    usual = float(means.values.mean()) if len(means.ids) else 0.0
    return np.where(means.knows(ids), means.get(ids), usual)


def log_weights(values: np.ndarray, floor: float) -> np.ndarray:
    """log of value - least + floor (greatest - least): the least has a chance too; all the same when all are equal.

    >>> np.exp(log_weights(np.array([-1.0, 0.0, 3.0]), 0.25)).round(3)
    array([0.25, 0.5 , 1.25])
    """
    span = float(np.ptp(values)) if len(values) else 0.0
    if span == 0:
        return np.zeros(len(values))
    return np.asarray(np.log((values - values.min()) / span + floor))
