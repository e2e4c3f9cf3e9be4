"""Mimic: report what the most wanted honest client reports, and no more, so that nothing looks odd."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from callup.core.index import Ids
from callup.core.types import Replies
from callup.simulation.adversaries.base import ADVERSARIES, SCORES, Adversary, saying


@ADVERSARIES.add("mimic", paper="Baruch, Baruch, Goldberg, NeurIPS 2019, for scores")
@dataclass(repr=False)
class Mimic(Adversary):
    """Every liar reports the highest honest loss of the round; where only liars are asked, the highest of their own.

    Clipping cannot tell it from an honest client.
    """

    def answer(self, index: int, name: str, ids: Ids, values: np.ndarray) -> np.ndarray:  # noqa: ARG002
        return self._copied(name, values, self.lies(ids))

    def reply(self, index: int, replies: Replies) -> Replies:  # noqa: ARG002
        lying = self.lies(replies.ids)
        return saying(replies, **{name: self._copied(name, v, lying) for name, v in replies.signals.items()})

    def _copied(self, name: str, values: np.ndarray, lying: np.ndarray) -> np.ndarray:
        if name not in SCORES or not lying.any():
            return values
        known = values if lying.all() else values[~lying]
        return np.where(lying, np.nanmax(known) if np.isfinite(known).any() else np.nan, values)
