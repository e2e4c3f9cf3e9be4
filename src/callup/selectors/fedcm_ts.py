"""FedCM-TS: draw each client's worth from what is believed of it, call the highest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from callup.core import draws
from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.per_client import PerClient
from callup.core.randomness import client_uniforms, stream
from callup.core.selector import Selector
from callup.core.types import Feedback, Plan, Round, Selection


@SELECTORS.add("fedcm-ts", paper="Kim, Bae, Lee, Yun, arXiv 2012.03270", needs=("kept",), cost="O(N)", one_by_one=True)
@dataclass(repr=False)
class FedCmTs(Selector):
    """Take the k clients of the highest theta ~ Beta(alpha, beta): times a filter kept the client's model, or did not.

        theta ~ Beta(alpha, beta)
        after a report:  alpha <- alpha + kept,   beta <- beta + 1 - kept

    Needs a filter, in the paper fedca. alpha and beta begin at 1. refresh: all draws theta anew for every client in
    every round; participants only for those who reported in the last one, as the algorithm is printed, so that others
    keep the theta of the round they last took part in, and first of all one drawn from Beta(1, 1).

    Differs from the paper: the k best are taken and ties are broken at random; the printed rule, all whose rank is
    within the sampling ratio, lacks its division by N. k is floor(ratio N), which the caller works out; the cohort
    comes from those available. refresh=all is the default. Whoever did not report learns nothing.
    """

    refresh: Literal["all", "participants"] = "all"

    @property
    def favour(self) -> float:
        return 10.0  # an exclusive Maverick among 50 clients is called up to 7 times as often as others

    @property
    def purse(self) -> float:
        return 0.35  # of the places: it settles on the few clients whose models are kept

    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        super().start(clients, plan, rng)
        self.key_ = int(rng.integers(2**63))
        self.alpha_ = PerClient(1.0)
        self.beta_ = PerClient(1.0)
        self.theta_ = PerClient()  # of refresh=participants

    def select(self, now: Round, k: int) -> Selection:
        alpha, beta = self.alpha_.get(now.available), self.beta_.get(now.available)
        if self.refresh == "all":
            theta = now.rng.beta(alpha, beta)
        else:
            first = client_uniforms(stream(self.key_, "first theta"), now.available)  # Beta(1, 1) is uniform
            theta = np.where(self.theta_.knows(now.available), self.theta_.get(now.available), first)
        # Algorithm 3, line 4.
        chosen = draws.top(now.available, theta, k, now.rng)
        rows = np.searchsorted(now.available, chosen)
        return Selection(chosen, scores={"theta": theta[rows], "kept_rate": (alpha / (alpha + beta))[rows]})

    def update(self, feedback: Feedback) -> None:
        # Sorted, so that what is drawn for whom does not hang on who replied first.
        order = np.argsort(feedback.ids)
        ids = feedback.ids[order]
        if not len(ids):
            return
        # Line 2, with r = 1 for those kept.
        kept = feedback.signals["kept"][order] > 0
        self.alpha_.add(ids, kept)
        self.beta_.add(ids, ~kept)
        if self.refresh == "participants":
            # Line 3 opens the next round; nothing is known then that is not known now.
            self.theta_.set(ids, feedback.rng.beta(self.alpha_.get(ids), self.beta_.get(ids)))
