"""FedCM-UCB: call clients whose models were worth keeping, and those too little is known of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from callup.core import draws
from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.index import Ids
from callup.core.per_client import PerClient
from callup.core.randomness import client_uniforms, stream
from callup.core.selector import Selector
from callup.core.types import Feedback, Plan, Round, Selection


@SELECTORS.add("fedcm-ucb", paper="Kim, Bae, Lee, Yun, arXiv 2012.03270", needs=("kept",), cost="O(N)", one_by_one=True)
@dataclass(repr=False)
class FedCmUcb(Selector):
    """Take the k clients of the highest mu + sqrt(3 ln t / 2a): mu is how often a filter kept the client's model.

        score = mu + sqrt(3 ln t / (2 a))
        after a report:  mu <- (a mu + kept) / (a + 1),   a <- a + 1

    Needs a filter, in the paper fedca. a counts the reports of a client and begins at 1, mu at 0 or 1 by a coin.
    refresh: all computes every client's bonus in every round; participants only for those who reported in the last
    one, as the algorithm is printed, so that others keep the bonus of the round they last took part in.

    Differs from the paper: the k best are taken and ties are broken at random; the printed rule, all whose rank is
    within the sampling ratio, names too few when scores tie, as they must in round 1. k is floor(ratio N), which the
    caller works out; the cohort comes from those available. refresh=all is the default. Rounds are counted from 1.
    Whoever did not report learns nothing.
    """

    refresh: Literal["all", "participants"] = "all"

    @property
    def favour(self) -> float:
        return 4.0  # an exclusive Maverick among 50 clients is called up to 3 times as often as others

    @property
    def purse(self) -> float:
        return 0.1  # of the places: it explores too evenly to need more

    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        super().start(clients, plan, rng)
        self.key_ = int(rng.integers(2**63))
        self.mean_ = PerClient()
        self.reports_ = PerClient(1.0)  # a_k
        self.index_ = PerClient()  # of refresh=participants

    def select(self, now: Round, k: int) -> Selection:
        mean = self._mean(now.available)
        if self.refresh == "all":
            score = _upper(mean, self.reports_.get(now.available), now.index)
        else:
            known = self.index_.knows(now.available)
            score = np.where(known, self.index_.get(now.available), mean)
        # Algorithm 2, line 4.
        chosen = draws.top(now.available, score, k, now.rng)
        rows = np.searchsorted(now.available, chosen)
        return Selection(chosen, scores={"kept_rate": mean[rows], "bonus": (score - mean)[rows]})

    def update(self, feedback: Feedback) -> None:
        ids = feedback.ids
        if not len(ids):
            return
        # Line 2, with r = 1 for those kept.
        reports, kept = self.reports_.get(ids), feedback.signals["kept"] > 0
        mean = (reports * self._mean(ids) + kept) / (reports + 1)
        self.mean_.set(ids, mean)
        self.reports_.set(ids, reports + 1)
        if self.refresh == "participants":
            # Line 3 opens the next round, so its t is the next round's.
            self.index_.set(ids, _upper(mean, reports + 1, feedback.index + 1))

    def _mean(self, ids: Ids) -> np.ndarray:
        """mu; for whoever has not reported yet a coin of its own, the same whenever it joins."""
        coin = client_uniforms(stream(self.key_, "first mean"), ids) < 0.5
        return np.where(self.mean_.knows(ids), self.mean_.get(ids), coin)


def _upper(mean: np.ndarray, reports: np.ndarray, t: int) -> np.ndarray:
    """Line 3: the mean with its confidence bonus."""
    return np.asarray(mean + np.sqrt(3 * np.log(t) / (2 * reports)))
