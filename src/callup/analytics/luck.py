"""Who can win the next draw, told by luck alone: the others need no weight."""

from __future__ import annotations

import math

import numpy as np

from callup.core.index import Ids
from callup.core.randomness import client_uniforms

_ROUNDING = 2.0**-34  # `core.draws` rounds keys to 36 bits before it orders them


def within_reach(ids: Ids, heaviest: float, some: np.ndarray, weights: np.ndarray, rng: np.random.Generator) -> Ids:
    """Rows among which `draws.weighted(ids, ..., 1, rng)` finds its client, when no log weight exceeds `heaviest`.

    `some` are rows with high log weights, and `weights` are theirs: what the best of them reaches with its luck is the
    mark, and whoever has too little luck to pass it even with the highest weight is left out. The generator is handed
    back as it came, so the draw gives everyone the same luck again.
    """
    before = rng.bit_generator.state
    luck = client_uniforms(rng, ids)
    rng.bit_generator.state = before
    mark = float(np.max(weights - np.log(-np.log(luck[some])), initial=-np.inf))
    short = heaviest - mark + _ROUNDING * (abs(heaviest) + abs(mark))
    if not math.isfinite(short):  # a weight that is not a number is the draw's to refuse
        return np.arange(len(ids))
    return np.flatnonzero(luck >= math.exp(-math.exp(min(short, 700.0))) - 1e-9)
