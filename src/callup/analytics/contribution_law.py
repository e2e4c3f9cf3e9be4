"""Draws in proportion to contributions, which may be negative, old or unknown: the law of SVB and of influence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from callup.core import draws
from callup.core.clients import Clients
from callup.core.errors import UsageError
from callup.core.per_client import PerClient
from callup.core.selector import Selector
from callup.core.types import Feedback, Plan, Round, Selection


@dataclass(repr=False)
class ByContribution(Selector):
    """Draws in proportion to the running mean of the `contribution` that each client's replies were found to make."""

    decay: float = 0.5
    floor: float = 0.01

    def __post_init__(self) -> None:
        # Both are shares: with decay 1 nothing new would ever count, and without a floor the last would starve.
        if not 0 <= self.decay < 1:
            raise UsageError(f"{self.card.name}: decay must be from 0 to below 1, got {self.decay:g}")
        if not 0 < self.floor < np.inf:
            raise UsageError(f"{self.card.name}: floor must be above 0 and finite, got {self.floor:g}")

    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        super().start(clients, plan, rng)
        self.means_ = PerClient()

    def select(self, now: Round, k: int) -> Selection:
        values = recalled(self.means_, now.available)
        chosen = draws.weighted(now.available, log_weights(values, self.floor), k, now.rng)
        return Selection(chosen, scores={"contribution": values[np.searchsorted(now.available, chosen)]})

    def update(self, feedback: Feedback) -> None:
        if len(feedback.ids):
            remember(self.means_, feedback.ids, feedback.signals["contribution"], self.decay)


def remember(means: PerClient, ids: np.ndarray, values: np.ndarray, decay: float) -> None:
    """mean <- decay mean + (1 - decay) value; the first value of a client is its mean."""
    share = np.where(means.knows(ids), decay, 0.0)
    means.set(ids, share * means.get(ids) + (1 - share) * values)


def recalled(means: PerClient, ids: np.ndarray) -> np.ndarray:
    """What each client is taken to contribute; the mean of all others where nothing is known, 0 where of nobody."""
    usual = float(means.values.mean()) if len(means.ids) else 0.0
    return np.where(means.knows(ids), means.get(ids), usual)


def log_weights(values: np.ndarray, floor: float) -> np.ndarray:
    """log of value - least + floor (greatest - least): the least has a chance too; all the same when all are equal.

    >>> np.exp(log_weights(np.array([-1.0, 0.0, 3.0]), 0.25)).round(3)
    array([0.25, 0.5 , 1.25])
    """
    span = float(np.ptp(values)) if len(values) else 0.0
    if span == 0:
        return np.zeros(len(values))
    return np.asarray(np.log((values - values.min()) / span + floor))
