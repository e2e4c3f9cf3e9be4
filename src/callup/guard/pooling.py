"""Pool, then random: the method names more clients than are needed, and luck draws the cohort from them.

However a client makes itself wanted, it wins one place in the pool; each place in the pool has the same chance. So a
share f of clients gets at most f / lambda of the places, lambda being the pool's share of the clients online.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from callup.core import draws
from callup.core.selector import Selector
from callup.core.types import Round, Selection
from callup.core.verify import ask


def pooled(selector: Selector, now: Round, k: int, online: int, pool: float, rng: np.random.Generator) -> Selection:
    """k clients drawn uniformly from the `pool` share of those online that the selector wants most."""
    wide = ask(selector, now, max(k, math.ceil(pool * online)))
    drawn = draws.uniform(np.sort(wide.ids), k, rng)
    keep = np.isin(wide.ids, drawn)
    return dataclasses.replace(
        wide,
        ids=wide.ids[keep],
        weights=None if wide.weights is None else np.asarray(wide.weights)[keep],
        scores={name: np.asarray(part)[keep] for name, part in wide.scores.items()},
        notes={**wide.notes, "guard_pool": float(len(wide.ids))},
    )


def spread(selection: Selection, room: np.ndarray, now: Round, rng: np.random.Generator) -> Selection:
    """Of a draw with replacement: repeats beyond a client's room, aligned with `now.available`, go to the others.

    They are dealt one by one, all who have room being equally likely, so that the number of draws stays as it was.
    """
    if selection.weights is None:
        return selection
    times = np.zeros(len(now.available))
    times[np.searchsorted(now.available, selection.ids)] = selection.weights
    left = np.maximum(room, 1.0)
    surplus = round(float(np.maximum(times - left, 0.0).sum()))
    if not surplus:
        return selection
    times = np.minimum(times, left)
    for _ in range(surplus):
        free = now.available[times < left]
        if not len(free):
            break
        times[np.searchsorted(now.available, draws.uniform(free, 1, rng))] += 1
    called = times > 0
    first = np.isin(selection.ids, now.available[called])
    added = np.setdiff1d(now.available[called], selection.ids)
    ids = np.concatenate([selection.ids[first], added])
    notes = {**selection.notes, "guard_moved": float(surplus)}
    return Selection(ids, weights=times[np.searchsorted(now.available, ids)], notes=notes)
