"""Fast, then stall: claim to be the fastest, be called, and keep everybody waiting."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from callup.core.clients import Clients
from callup.core.index import Ids
from callup.simulation.adversaries.base import ADVERSARIES, Adversary, claiming


@ADVERSARIES.add("fast-then-stall")
@dataclass(repr=False)
class FastThenStall(Adversary):
    """Liars claim a tenth of the shortest latency and take `slower` times as long as they truly would.

    Where there is a deadline they never make it, so that nothing is ever learned of them.
    """

    slower: float = 1000.0

    def claim(self, clients: Clients) -> Clients:
        if "latency" not in clients:
            return clients
        latency = np.array(clients.all("latency"))
        latency[self.lies(clients.ids)] = 0.1 * latency.min()
        return claiming(clients, {"latency": latency})

    def seconds(self, index: int, ids: Ids, seconds: np.ndarray) -> np.ndarray:  # noqa: ARG002
        return np.where(self.lies(ids), self.slower * seconds, seconds)
