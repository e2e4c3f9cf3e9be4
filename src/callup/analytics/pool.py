"""A pool of candidates: where looking at everyone takes too long, look at some, drawn at random in each round."""

from __future__ import annotations

import numpy as np

from callup.core import draws
from callup.core.index import Ids


def candidate_pool(ids: Ids, candidates: int | None, least: int, rng: np.random.Generator) -> Ids:
    """So many of these clients, never fewer than `least`, in the order of ids; None is everyone."""
    if candidates is None or max(candidates, least) >= len(ids):
        return ids
    return np.sort(draws.uniform(ids, max(candidates, least), rng))
