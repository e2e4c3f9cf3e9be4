"""Clustered sampling by size: clients poured into k urns in the order of size, one draw from each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from callup.analytics.urns import drawn, poured
from callup.core import draws
from callup.core.catalogue import SELECTORS
from callup.core.selector import Selector
from callup.core.types import Round, Selection


@SELECTORS.add(
    "clustered-size",
    paper="Fraboni, Vidal, Kameni, Lorenzi, ICML 2021, Algorithm 1",
    needs=("num_examples",),
    cost="O(N log N)",
    with_replacement=True,
)
@dataclass(repr=False)
class ClusteredSize(Selector):
    """Pour clients, largest first, into k urns by their share of the data and draw one client from each urn.

    As unbiased as k independent draws by data size, and steadier: a client is in one urn or two, or fills some alone
    when it holds more than 1/k of the data, so it cannot be drawn much more or less often than its share. Whoever is
    drawn twice trains once and weighs twice: the weights carry how often each client was drawn.

    Differs from the paper: shares are of the data of available clients, so that over those it stays unbiased. Clients
    of equal size are poured in random order. Clients without samples are never drawn, unless nobody has any: then all
    are equally likely.
    """

    def select(self, now: Round, k: int) -> Selection:
        if not len(now.available):
            return Selection(now.available)
        sizes = now.clients.of("num_examples", now.available)
        if not sizes.any():
            sizes = np.ones(len(sizes))
        # Algorithm 1: k n_i for every client, and room for all the data there is in each urn.
        order = draws.top(now.available, sizes, len(sizes), now.rng)
        rows = np.searchsorted(now.available, order)
        urns = poured(k * sizes[rows], np.full(k, sizes.sum()))
        times = np.bincount(rows[drawn(urns, k, now.rng)], minlength=len(sizes)).astype(np.float64)
        chosen = draws.top(now.available[times > 0], times[times > 0], k, now.rng)
        found = np.searchsorted(now.available, chosen)
        return Selection(
            chosen, weights=times[found], scores={"share": sizes[found] / sizes.sum(), "draws": times[found]}
        )
