"""Power-of-Choice: probe d candidates, keep the k with the highest local loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from callup.core import draws
from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.errors import UsageError
from callup.core.per_client import PerClient
from callup.core.selector import Selector
from callup.core.signals import Needs
from callup.core.types import Feedback, Plan, Round, Selection


@SELECTORS.add(
    "power-of-choice",
    paper="Cho, Wang, Joshi, AISTATS 2022",
    needs=("num_examples", "loss@probe|batch_loss@probe|train_loss"),
    cost="O(N) and d probes",
)
@dataclass(repr=False)
class PowerOfChoice(Selector):
    """Draw d candidates by data share, ask their loss, keep the k that fit the model worst.

    full: the loss on all local data, one extra exchange with d clients. batch: on one mini-batch. stale: the mean
    training loss each last reported; nobody is asked, and who never reported comes first.

    Differs from the paper: d below k is raised to k, so that k clients can be named; a candidate that does not
    answer the probe comes last.
    """

    d: int = 20
    variant: Literal["full", "batch", "stale"] = "full"

    def __post_init__(self) -> None:
        if self.d < 1:
            raise UsageError(f"power-of-choice: d must be at least 1, got {self.d}")

    @property
    def favour(self) -> float:
        return 6.0  # an exclusive Maverick among 50 clients is called 5.6 times as often as others, all the time

    @property
    def purse(self) -> float:
        return 0.25  # of the places: with less, classes that few clients own are recalled less often

    @property
    def needs(self) -> Needs:
        asked = {"full": "loss@probe", "batch": "batch_loss@probe", "stale": "train_loss"}[self.variant]
        return Needs.of(("num_examples", asked))

    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        super().start(clients, plan, rng)
        self.last_loss_ = PerClient(np.inf)  # rpow-d: never seen is worst of all

    def select(self, now: Round, k: int) -> Selection:
        # Step 1: the candidate set A, d clients without replacement, in proportion to their share of the data.
        with np.errstate(divide="ignore"):
            log_share = np.log(now.clients.of("num_examples", now.available))
        candidates = np.sort(draws.weighted(now.available, log_share, max(self.d, k), now.rng))
        # Step 2: their local losses. Step 3: the k highest.
        losses = self._losses(now, candidates)
        chosen = draws.top(candidates, np.where(np.isnan(losses), -np.inf, losses), k, now.rng)
        reported = losses[np.searchsorted(candidates, chosen)]
        return Selection(chosen, scores={"loss": reported}, notes={"candidates": float(len(candidates))})

    def _losses(self, now: Round, candidates: np.ndarray) -> np.ndarray:
        if self.variant == "stale":
            return self.last_loss_.get(candidates)
        return now.probe("loss" if self.variant == "full" else "batch_loss", candidates)

    def update(self, feedback: Feedback) -> None:
        if self.variant == "stale" and len(feedback.ids):
            self.last_loss_.set(feedback.ids, feedback.signals["train_loss"])
