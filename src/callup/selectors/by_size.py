"""By size: draw with replacement, a client's chance is its share of the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from callup.core import draws
from callup.core.catalogue import SELECTORS
from callup.core.selector import Selector
from callup.core.types import Round, Selection


@SELECTORS.add(
    "by-size",
    paper="FedProx, Li et al., MLSys 2020",
    needs=("num_examples",),
    cost="O(N)",
    with_replacement=True,
)
@dataclass(repr=False)
class BySize(Selector):
    """Draw k times with replacement in proportion to data size; whoever is drawn twice trains once and weighs twice.

    The plain mean over the k draws is an unbiased estimate of the mean over all data. The weights carry how often
    each client was drawn, and every average that takes weights then yields that mean.

    Differs from the paper: shares are of the data of available clients. Clients without samples are never drawn,
    unless nobody has any: then all are equally likely.
    """

    def select(self, now: Round, k: int) -> Selection:
        if not len(now.available):
            return Selection(now.available)
        sizes = now.clients.of("num_examples", now.available)
        if not sizes.any():
            sizes = np.ones(len(sizes))
        # A draw falls on the first client whose running total exceeds it; one without samples adds nothing to it.
        reach = np.cumsum(sizes)
        drawn = np.searchsorted(reach, now.rng.random(k) * reach[-1], side="right")
        times = np.bincount(drawn, minlength=len(sizes)).astype(np.float64)
        called = times > 0
        chosen = draws.top(now.available[called], times[called], int(called.sum()), now.rng)
        rows = np.searchsorted(now.available, chosen)
        return Selection(chosen, weights=times[rows], scores={"share": sizes[rows] / reach[-1], "draws": times[rows]})
