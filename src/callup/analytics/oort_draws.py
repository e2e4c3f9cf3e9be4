"""How Oort fills its places from scored clients. Lai et al., OSDI 2021, Algorithm 1, lines 13-16."""

from __future__ import annotations

import numpy as np

from callup.analytics.shares import floor_share
from callup.core import draws
from callup.core.index import Ids


def draw_known(ids: Ids, score: np.ndarray, places: int, cutoff: float, pool: int, rng: np.random.Generator) -> Ids:
    """Drawn by score from all who reach `cutoff` times the score at the last place, and from pool * places at least.

    A cutoff of at most 1 lets at least as many pass as there are places, however few are known.
    """
    if not places:
        return ids[:0]
    exact = draws.quantised(score)
    ranked = np.sort(exact)[::-1]
    border = min(cutoff * ranked[places - 1], ranked[min(pool * places, len(ids)) - 1])
    return _by_score(ids[exact >= border], score[exact >= border], places, rng)


def draw_new(ids: Ids, score: np.ndarray, places: int, window: float, rng: np.random.Generator) -> Ids:
    """Drawn by score from the window * places clients of the highest score."""
    best = np.sort(draws.top(ids, score, floor_share(window, places), rng))
    return _by_score(best, score[np.searchsorted(ids, best)], places, rng)


def _by_score(ids: Ids, score: np.ndarray, places: int, rng: np.random.Generator) -> Ids:
    """One after the other, in proportion to the score; a score of 0 comes last."""
    with np.errstate(divide="ignore"):
        return draws.weighted(ids, np.log(score), places, rng)
