"""A place in the round is worth no more than three: where a method weighs clients, nobody weighs beyond that."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from callup.core.types import Selection

MOST = 3.0
"""Times an equal share."""


def evened(selection: Selection) -> Selection:
    """The same choice, in which no client has more than three times an equal share of the weight."""
    if selection.weights is None or not len(selection.ids):
        return selection
    return replace(selection, weights=capped(np.asarray(selection.weights, np.float64), MOST / len(selection.ids)))


def capped(weights: np.ndarray, most: float) -> np.ndarray:
    """Weights of which none is more than this share of all; the others keep their proportions."""
    order = np.sort(weights)[::-1]
    rest = weights.sum()
    for above, heaviest in enumerate(order):
        if above * most >= 1:
            return weights  # nobody can be above such a share
        limit = most * rest / (1 - above * most)
        if heaviest <= limit:
            return np.minimum(weights, limit) if above else weights
        rest -= heaviest
    return weights
