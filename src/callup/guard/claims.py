"""Claimed sizes and label counts: nobody counts as much larger than the rest, and shares of classes are kept.

A client that claims a thousand times the usual data would rule every weighted draw and every pooled histogram. It is
seen as `reach` times the median instead, and its histogram is scaled down with it.
"""

from __future__ import annotations

import numpy as np

from callup.core.clients import Clients
from callup.guard.features import tamed
from callup.guard.scaling import limits


def believed(clients: Clients, size_reach: float, feature_reach: float) -> Clients:
    """The table as selectors may see it: the same columns, claims within reason."""
    columns = dict(clients.columns)
    factor = size_factor(clients, size_reach)
    if (factor < 1).any():
        for name in ("num_examples", "label_counts", "label_gram"):
            if name in columns:
                columns[name] = _scaled(name, columns[name], factor)
    if "features" in columns:
        columns["features"] = tamed(np.array(columns["features"], np.float64), feature_reach)
    if "latency" in columns:
        low, high = limits(columns["latency"], size_reach)
        columns["latency"] = np.clip(columns["latency"], max(low, 0.0), high)
    return Clients(clients.ids, **columns).only(*columns)


def size_factor(clients: Clients, reach: float) -> np.ndarray:
    """What each client's claimed size is multiplied by: 1 up to `reach` times the median of those who have data."""
    claimed = _claimed(clients)
    holds = claimed[claimed > 0]
    if not len(holds):
        return np.ones(len(clients))
    ceiling = reach * float(np.median(holds))
    return np.asarray(np.minimum(1.0, ceiling / np.maximum(claimed, ceiling)))


def _claimed(clients: Clients) -> np.ndarray:
    if "num_examples" in clients:
        return clients.all("num_examples")
    if "label_counts" in clients:
        return np.asarray(clients.all("label_counts").sum(axis=1))
    if "label_gram" in clients:
        return np.sqrt(np.diag(clients.all("label_gram")))
    return np.zeros(len(clients))


def _scaled(name: str, column: np.ndarray, factor: np.ndarray) -> np.ndarray:
    if name == "num_examples":
        return np.asarray(column * factor)
    if name == "label_counts":
        return np.asarray(column * factor[:, None])
    return np.asarray(column * np.outer(factor, factor))
