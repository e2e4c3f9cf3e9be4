"""Balanced: an oracle that sees everyone's labels and calls a group whose pooled classes are even."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from callup.analytics.pool import candidate_pool
from callup.analytics.qcid import qcid
from callup.core import draws
from callup.core.catalogue import SELECTORS
from callup.core.index import Ids
from callup.core.randomness import client_uniforms
from callup.core.selector import Selector
from callup.core.types import Round, Selection, check_k

_NEAR = 1e-9  # more than rounding before the order is made can move a score
_MOST_SWEEPS = 100  # about four are needed; rounding must not keep two equal groups taking turns


@SELECTORS.add(
    "balanced",
    paper="Fed-CBS, Zhang et al., ICML 2023, Figure 1",
    needs=("label_counts",),
    presets={"pool": {"candidates": 1000}},
    cost="O(N k B) a sweep, about four sweeps; with a pool O(N) and its size in place of N",
    max_clients=100_000,
)
@dataclass(repr=False)
class Balanced(Selector):
    """Start from a random group and exchange members as long as that makes its pooled classes more even (QCID).

    What Fed-CBS calls Class Balanced and chooses by hand: with clients of one class each it is one of every class, a
    different one in every round. In general each member, in random order, gives way to the client that leaves the
    least QCID, and ties are broken at random; the search ends when no single exchange helps. It needs true label
    counts and is a yardstick, not a method for use.
    starts: take the best of so many random starts; more of them are a little more even and vary less from round to
    round. candidates: look only at so many clients, drawn uniformly in each round; the preset pool takes 1000, and
    then there is no limit on the federation.

    Differs from the paper: it does not say how groups are chosen where clients hold many classes. A greedy choice from
    a random first client was tried too: its groups were less even and more often the same. A client without samples
    is asked only when nobody else is left.
    """

    starts: int = 1
    candidates: int | None = None

    def __post_init__(self) -> None:
        check_k(self.starts, "balanced: starts")
        if self.candidates is not None:
            check_k(self.candidates, "balanced: candidates")

    @property
    def max_clients(self) -> int | None:
        return self.card.max_clients if self.candidates is None else None

    def select(self, now: Round, k: int) -> Selection:
        pool = candidate_pool(now.available, self.candidates, k, now.rng)
        counts = now.clients.of("label_counts", pool)
        holds = counts.any(axis=1)
        ids, counts = pool[holds], counts[holds]
        size = min(k, len(ids))
        groups = [_exchanged(ids, counts, size, now.rng) for _ in range(self.starts)]
        reached, group = min(((_imbalance(counts[rows]), rows) for rows in groups), key=lambda found: found[0])
        # Those who would be missed most come first; nobody misses a client without samples.
        without = np.array([_imbalance(counts[np.delete(group, place)]) for place in range(size)])
        first = draws.top(ids[group], without, size, now.rng)
        spare = draws.uniform(pool[~holds], k - size, now.rng)
        missed = np.append(without[np.searchsorted(ids[group], first)], np.full(len(spare), reached))
        notes = {"qcid": reached} if size else {}
        return Selection(np.concatenate([first, spare]), scores={"qcid_without": missed}, notes=notes)


def _imbalance(counts: np.ndarray) -> float:
    """QCID of a group; of nobody that of a single class, the worst there is."""
    return qcid(counts) if len(counts) else 1 - 1 / counts.shape[1]


def _exchanged(ids: Ids, counts: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Rows of a group that no exchange of one member makes more even, sorted. Everyone has samples."""
    group = np.searchsorted(ids, draws.uniform(ids, size, rng))
    if size == len(ids):
        return np.sort(group)
    classes, samples, squares = counts.shape[1], counts.sum(axis=1), np.square(counts).sum(axis=1)
    for _ in range(_MOST_SWEEPS):
        before = group.copy()
        for place in rng.permutation(size):
            others = np.delete(group, place)
            pooled = counts[others].sum(axis=0)
            # QCID of the others with each client c, over one denominator: (B |D + d_c|^2 - n^2) / (B n^2).
            square = np.square(pooled.sum() + samples)
            left = counts @ (2 * pooled)
            left += pooled @ pooled
            left += squares
            left *= classes
            left -= square
            square *= classes
            left /= square
            left[others] = np.inf
            least = float(left.min())
            if draws.quantised(least) < draws.quantised(left[group[place]]):
                near = np.flatnonzero(left <= least + _NEAR * abs(least))
                best = near[draws.quantised(left[near]) == draws.quantised(least)]
                group[place] = best[client_uniforms(rng, ids[best]).argmin()]
        if (group == before).all():
            break
    return np.sort(group)
