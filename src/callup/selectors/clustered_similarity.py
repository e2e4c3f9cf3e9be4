"""Clustered sampling by similarity: clients whose updates point the same way share an urn, one draw from each urn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from callup.analytics.distances import angles, euclidean, manhattan
from callup.analytics.last_rows import no_rows, with_rows
from callup.analytics.urns import Urns, drawn, grouped, in_order
from callup.analytics.ward import cut, ward
from callup.core import draws
from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.selector import Selector
from callup.core.types import Feedback, Plan, Round, Selection


@SELECTORS.add(
    "clustered-similarity",
    paper="Fraboni, Vidal, Kameni, Lorenzi, ICML 2021, Algorithm 2",
    needs=("num_examples", "update"),
    cost="O(N^2 d), d the length of an update; keeps the last update of each client",
    max_clients=1_000,
    with_replacement=True,
)
@dataclass(repr=False)
class ClusteredSimilarity(Selector):
    """Group clients by the update each last sent, give every urn one group's share of the data, draw one from each.

    Ward's tree over the updates is cut where groups hold at most 1/k of the data. The k largest groups are the urns;
    clients of the others are poured into the room that is left, so that all urns are full and the draws as unbiased
    as k independent ones by data size. Whoever is drawn twice trains once and weighs twice: the weights carry how often
    each client was drawn. similarity: the angle between updates, or their l1 or l2 distance. linkage: pairs joins
    groups by these numbers; rows takes a client's numbers towards all others for its coordinates and joins by the
    distance between those, as the authors' code does.

    Differs from the paper: a client that holds more than 1/k of the data first fills urns of its own, and its remainder
    is grouped with the others. Whoever never sent an update has a zero one, at a right angle to all others; in the
    authors' code its angle to anyone is 0. Urns are made of all clients; those not available are then left out, and
    the others in the urn keep their proportions, which is not unbiased any more. An urn nobody of which is available
    draws by size from all who are.
    """

    similarity: Literal["angle", "l1", "l2"] = "angle"
    linkage: Literal["pairs", "rows"] = "pairs"

    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        super().start(clients, plan, rng)
        self.updates_ = no_rows()

    def roster(self, clients: Clients, rng: np.random.Generator) -> None:  # noqa: ARG002
        self.updates_.forget(np.setdiff1d(self.updates_.ids, clients.ids))

    def select(self, now: Round, k: int) -> Selection:
        if not len(now.available):
            return Selection(now.available)
        ids = draws.uniform(now.clients.ids, len(now.clients), now.rng)  # in random order: ties fall on the first
        sizes = now.clients.of("num_examples", ids)
        if not sizes.any():
            sizes = np.ones(len(sizes))
        here = np.isin(ids, now.available)
        urns = self._urns(ids, sizes, k)
        rows = drawn(urns.only(here[urns.row]), k, now.rng)
        empty = rows < 0
        if empty.any():
            rows[empty] = _by_size(np.where(here, sizes, 0.0) if sizes[here].any() else here, empty.sum(), now.rng)
        called, times = np.unique(ids[rows], return_counts=True)
        chosen = draws.top(called, times, k, now.rng)
        weights = times[np.searchsorted(called, chosen)].astype(np.float64)
        return Selection(
            chosen,
            weights=weights,
            scores={"draws": weights, "seen": self.updates_.knows(chosen).astype(np.float64)},
            notes={"seen": float(self.updates_.knows(ids).sum()), "empty_urns": float(empty.sum())},
        )

    def _urns(self, ids: np.ndarray, sizes: np.ndarray, k: int) -> Urns:
        """Algorithm 2: k n_i for every client, and room for all the data there is in each urn."""
        room = sizes.sum()
        alone = np.floor(k * sizes / room)
        rest = k * sizes - alone * room
        own = np.repeat(np.arange(len(ids)), alone.astype(np.intp))
        group = cut(ward(self._dissimilarity(ids)), rest, room)
        shared = grouped(group, rest, k - len(own), room)
        return in_order(
            Urns(own, np.arange(len(own)), np.full(len(own), room)),
            Urns(shared.row, len(own) + shared.urn, shared.amount),
        )

    def _dissimilarity(self, ids: np.ndarray) -> np.ndarray:
        updates = self.updates_.get(ids)
        if self.similarity == "angle":
            table = angles(updates)
        else:
            table = manhattan(updates) if self.similarity == "l1" else euclidean(updates, updates)
        return euclidean(table, table) if self.linkage == "rows" else table

    def update(self, feedback: Feedback) -> None:
        if len(feedback.ids):
            self.updates_ = with_rows(self.updates_, feedback.ids, feedback.signals["update"], "clustered-similarity")


def _by_size(weights: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Rows drawn with replacement in proportion to their weights."""
    reach = np.cumsum(weights)
    return np.asarray(np.searchsorted(reach, rng.random(count) * reach[-1], side="right"))
