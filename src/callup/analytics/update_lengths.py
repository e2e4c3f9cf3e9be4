"""How long clients' last updates are, compared with others' and with their own."""

from __future__ import annotations

import numpy as np

from callup.core import draws
from callup.core.index import Ids
from callup.core.per_client import PerClient

_SHORTEST = 1e-6  # of a typical update
_USUAL = 0.5  # of a typical update or more: no shorter than data alone make it
_TINY = 1e-300


def shortness(last: PerClient, longest: PerClient, ids: Ids) -> np.ndarray:
    """How long the last update was, against others' or against the client's longest; 1 for half the usual and more.

    The milder of the two, because lengths alone differ between clients that train alike, and up to a factor of two
    neither tells. Who was never heard is as long as anybody.
    """
    if not len(last.ids):
        return np.ones(len(ids))
    against_others = _to_median(last.get(ids), last.values)
    decline = _to_median(_decline(last, longest, ids), _decline(last, longest, last.ids))
    milder = np.maximum(against_others, decline)
    return np.asarray(np.where(milder < _USUAL, np.maximum(milder, _SHORTEST), 1.0))


def slowdown(shortness: np.ndarray, k: int) -> np.ndarray:
    """How much of a round's way is lost by having the client in it.

    With 1 / k of the weights, and raised by as much as its update is short, it leaves the others that much less.
    """
    return np.asarray(1 - 1 / (1 + (1 / shortness - 1) / k))


def dullness(told: PerClient, ids: Ids) -> np.ndarray:
    """By ranks of what they told, lengths or losses: 0 for the client with most to tell, 1 for the least.

    Who was never heard may have most.
    """
    much = draws.quantised(told.get(ids))
    return np.asarray(1 - np.searchsorted(np.sort(much), much) / max(len(ids) - 1, 1))


def _decline(last: PerClient, longest: PerClient, ids: Ids) -> np.ndarray:
    return np.asarray(last.get(ids) / np.maximum(longest.get(ids), _TINY))


def _to_median(values: np.ndarray, everybody: np.ndarray) -> np.ndarray:
    """All of them typical where the median is 0."""
    median = float(np.median(everybody))
    return values / median if median > 0 else np.ones(len(values))
