"""Inflated loss: 'the model does terribly on my data, call me'."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from callup.core.index import Ids
from callup.core.types import Replies
from callup.simulation.adversaries.base import ADVERSARIES, SCORES, Adversary, saying


@ADVERSARIES.add("inflated-loss", paper="Oort, OSDI 2021, on robustness; arXiv 2509.19921")
@dataclass(repr=False)
class InflatedLoss(Adversary):
    """Every loss that is reported is `factor` times the true one, and the accuracy is 0.

    One client at factor=1e30 also destroys any scale that runs from the lowest to the highest value.
    """

    factor: float = 1e6

    def answer(self, index: int, name: str, ids: Ids, values: np.ndarray) -> np.ndarray:
        return self._inflated(index, name, values, self.lies(ids))

    def reply(self, index: int, replies: Replies) -> Replies:
        lying = self.lies(replies.ids)
        told = {name: self._inflated(index, name, value, lying) for name, value in replies.signals.items()}
        return saying(replies, **told)

    def _inflated(self, index: int, name: str, values: np.ndarray, lying: np.ndarray) -> np.ndarray:
        if name in SCORES:
            return np.where(lying, np.abs(values) * self._factor(index), values)
        return np.where(lying, 0.0, values) if name == "accuracy" else values

    def _factor(self, index: int) -> float:  # noqa: ARG002
        return self.factor
