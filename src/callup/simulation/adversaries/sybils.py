"""Sybils: one owner registers many clients and trains once for all of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from callup.core.clients import Clients
from callup.core.types import Replies
from callup.simulation.adversaries.base import ADVERSARIES
from callup.simulation.adversaries.inflated_loss import InflatedLoss


@ADVERSARIES.add("sybils", paper="Fung, Yoon, Beschastnikh, arXiv 1808.04866 (FoolsGold)")
@dataclass(repr=False)
class Sybils(InflatedLoss):
    """All liars belong to one owner, report inflated losses, and send the update of the first of them in the round.

    Every honest client has an owner of its own. The server knows owners, e.g. from the keys it admitted.
    """

    def owners(self, clients: Clients) -> np.ndarray | None:
        honest = ~self.lies(clients.ids)
        owners = np.zeros(len(clients), np.int64)
        owners[honest] = 1 + np.arange(int(honest.sum()))
        return owners

    def reply(self, index: int, replies: Replies) -> Replies:
        lying = self.lies(replies.ids)
        told = super().reply(index, replies)
        if not lying.any():
            return told
        models = np.array(replies.models)
        models[lying] = models[np.flatnonzero(lying)[0]]
        return replace(told, models=models)
