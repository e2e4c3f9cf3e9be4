"""CMFL: leave out updates that point elsewhere than the federation does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from callup.core import draws
from callup.core.catalogue import FILTERS
from callup.core.clients import Clients
from callup.core.errors import UsageError
from callup.core.randomness import stream
from callup.core.selector import Filter, Workbench
from callup.core.types import Plan, Replies


@FILTERS.add(
    "cmfl",
    paper="Wang, Wang, Li, ICDCS 2019",
    presets={"fedacs": {"reference": "current_mean", "threshold": 0.7, "schedule": "constant"}},
    cost="O(k d)",
)
@dataclass(repr=False)
class Cmfl(Filter):
    """Keep updates of which at least a threshold's share of coordinates has the sign of a common direction.

    reference: previous_global is the change of the global model in the last round that changed it, and the first
    round keeps everybody; current_mean is the plain mean of this round's updates, as in FedACS's comparison, whose
    constants are the preset fedacs and which averages by mean. threshold: v. schedule: sqrt is v/sqrt(t) in the t-th
    round that had replies; constant may shut out everybody, for updates of several local epochs on skewed data agree
    in little more than half of their signs. rescue: when nobody passes, keep the one that agrees most. A zero agrees
    only with a zero.

    Differs from the paper: clients check themselves there, and an irrelevant update is never sent; here the server
    leaves it out, so nothing is saved on the way. rescue is FedACS's; without it, as in the paper, a round in which
    nobody passes leaves the model as it was. Of the paper the reference and the sign test were confirmed; the
    schedules are from memory, and 0.8 is the constant of a public re-implementation, not verified as the paper's.
    FedACS's published code has 0.8 in an early version and 0.7 later.
    """

    reference: Literal["previous_global", "current_mean"] = "previous_global"
    threshold: float = 0.8
    schedule: Literal["sqrt", "constant"] = "sqrt"
    rescue: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= 1:
            raise UsageError(f"cmfl: threshold must be above 0 and at most 1, got {self.threshold:g}")

    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        super().start(clients, plan, rng)
        self.key_ = int(rng.integers(2**63))
        self.rounds_ = 0
        self.direction_ = np.empty(0, np.int8)  # signs of the last change of the global model

    def keep(self, replies: Replies, bench: Workbench) -> np.ndarray:  # noqa: ARG002
        if not len(replies.ids):
            return np.zeros(0, bool)
        if self.reference == "previous_global" and not len(self.direction_):
            return np.ones(len(replies.ids), bool)
        common = self.direction_ if self.reference == "previous_global" else _signs_of_mean(replies)
        shares = agreement(replies, common)
        mask = shares >= self.threshold / (np.sqrt(self.rounds_ + 1) if self.schedule == "sqrt" else 1)
        if self.rescue and not mask.any():
            mask = replies.ids == draws.top(replies.ids, shares, 1, stream(self.key_, "ties", self.rounds_))[0]
        return np.asarray(mask)

    def update(self, replies: Replies, kept: np.ndarray, model: np.ndarray) -> None:  # noqa: ARG002
        self.rounds_ += 1
        change = np.sign(model - replies.start).astype(np.int8)
        if change.any():
            self.direction_ = change


def agreement(replies: Replies, signs: np.ndarray) -> np.ndarray:
    """The share of coordinates in which each update has these signs."""
    return np.array([np.mean(np.sign(local - replies.start) == signs) for local in replies.models])


def _signs_of_mean(replies: Replies) -> np.ndarray:
    # In the order of ids: another order of additions may turn a sum that is nearly zero.
    total = np.zeros(len(replies.start))
    for row in np.argsort(replies.ids):
        total += np.subtract(replies.models[row], replies.start, dtype=np.float64)
    return np.sign(total)
