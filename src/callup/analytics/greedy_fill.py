"""Filling a cohort greedily: whoever leaves the pooled classes nearest to balance comes next."""

from __future__ import annotations

import numpy as np

from callup.analytics.class_ratio import TINY, cross_entropy
from callup.core import draws
from callup.core.index import Ids

_BLOCK = 1 << 14  # clients at a time: their numbers stay in the processor's cache
_TOGETHER = 16  # shares of at least 1e-15 whose product is still a number
_NEAR = 1e-9  # far more than rounding, and the order's own, can move a score


def fill_greedily(
    ids: Ids, masses: np.ndarray, pool: np.ndarray, count: int, rng: np.random.Generator
) -> tuple[Ids, np.ndarray]:
    """Adds to a pool, again and again, the client that leaves it nearest to balance; ids in order, and CE after each.

    `masses` are samples by class, or shares where every client counts the same; `pool` is what is there already.
    Whoever has no mass comes last, at random: it would leave any pool as balanced as it was.
    """
    by_class, pool = np.ascontiguousarray(np.asarray(masses, np.float64).T), np.array(pool, np.float64)
    sizes, left = by_class.sum(axis=0), np.ones(len(ids), bool)
    chosen, reached = np.empty(min(count, len(ids)), np.int64), np.empty(min(count, len(ids)))
    for place in range(len(chosen)):
        evenness = log_shares(pool, by_class, sizes)
        evenness[~left | (sizes <= 0)] = -np.inf
        best = float(evenness.max())
        # -inf, where nobody with mass is left, is everyone's.
        near = np.flatnonzero(left & (evenness >= best - _NEAR * max(1.0, abs(best))))
        pick = draws.top(ids[near], evenness[near], 1, rng)[0]
        row = int(near[np.flatnonzero(ids[near] == pick)[0]])
        left[row] = False
        pool += by_class[:, row]
        chosen[place], reached[place] = pick, cross_entropy(pool)
    return chosen, reached


def log_shares(pool: np.ndarray, by_class: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """sum_b ln(R_b + 1e-15), with R the label shares of the pool and each client: -B times their cross-entropy.

    One logarithm of a product for some classes at a time, because a logarithm takes as long as twenty products.
    """
    total = np.zeros(len(sizes))
    for at in range(0, len(sizes), _BLOCK):
        part = slice(at, at + _BLOCK)
        samples = pool.sum() + sizes[part]
        scale = 1 / np.where(samples > 0, samples, 1.0)
        for first in range(0, len(pool), _TOGETHER):
            product = np.ones(len(samples))
            for b in range(first, min(first + _TOGETHER, len(pool))):
                share = by_class[b, part] + pool[b]
                share *= scale
                share += TINY
                product *= share
            total[part] += np.log(product)
    return total
