"""FedFast: cluster clients by their label counts, draw one from each cluster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from callup.analytics.kmeans import kmeans, nearest
from callup.core import draws
from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.errors import InputError
from callup.core.index import Ids
from callup.core.per_client import PerClient
from callup.core.selector import Selector
from callup.core.types import Plan, Round, Selection


@SELECTORS.add(
    "fedfast",
    paper="Muhammad et al., KDD 2020, as compared in the FedEMD paper",
    needs=("label_counts",),
    cost="O(N), and k-means once",
)
@dataclass(repr=False)
class FedFast(Selector):
    """Group clients by k-means on their label counts, as many groups as clients a round, and call one of each.

    Clients of a group hold similar data in similar amounts, so one can stand for the others. Groups are made once,
    when the run begins, with as many as the plan has clients a round.

    Differs from the paper: FedFast is made for recommenders. It clusters embeddings that training has learned, and
    moves the clients that were not called along with their group. This is the selection alone, on raw label counts,
    as in the comparison of the FedEMD paper. Where nobody of a group is available, or there are fewer groups than
    places, clients not yet called fill up, all equally likely. A newcomer joins the group with the nearest centre.
    """

    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        super().start(clients, plan, rng)
        found = kmeans(clients.all("label_counts"), plan.k, rng)
        self.centres_ = found.centres
        self.group_ = PerClient(-1, np.int64)
        self.group_.set(clients.ids, found.labels)

    def roster(self, clients: Clients, rng: np.random.Generator) -> None:  # noqa: ARG002
        self.group_.set(clients.ids, self._groups(clients, clients.ids))

    def select(self, now: Round, k: int) -> Selection:
        ids, group = now.available, self._groups(now.clients, now.available)
        first = draws.one_of_each(ids, group, now.rng)
        called = draws.uniform(np.sort(ids[first]), k, now.rng)
        fill = draws.uniform(np.delete(ids, np.searchsorted(ids, called)), k - len(called), now.rng)
        chosen = np.concatenate([called, fill])
        of_chosen = group[np.searchsorted(ids, chosen)].astype(np.float64)
        return Selection(
            chosen,
            scores={"group": of_chosen, "filling": np.isin(chosen, fill).astype(np.float64)},
            notes={"groups": float(len(self.centres_)), "groups_available": float(len(first))},
        )

    def _groups(self, clients: Clients, ids: Ids) -> np.ndarray:
        """The group of each client; of a newcomer, the one whose centre is nearest."""
        group = self.group_.get(ids)
        new = group < 0
        if new.any():
            counts = clients.of("label_counts", ids[new])
            if counts.shape[1] != self.centres_.shape[1]:
                raise InputError(
                    f"fedfast: label_counts had {self.centres_.shape[1]} classes when the run began, "
                    f"now {counts.shape[1]}"
                )
            group[new] = nearest(counts, self.centres_)
        return group
