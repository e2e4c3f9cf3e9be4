"""Rare-class hoard: 'I hold all there is of the rarest class'."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from callup.core.clients import Clients
from callup.simulation.adversaries.base import ADVERSARIES, Adversary, claiming


@ADVERSARIES.add("rare-class-hoard")
@dataclass(repr=False)
class RareClassHoard(Adversary):
    """Liars pose as Mavericks: `times` the usual size, all of it of the class that the honest hold least of."""

    times: float = 5.0

    def claim(self, clients: Clients) -> Clients:
        lying = self.lies(clients.ids)
        if "label_counts" not in clients:
            return clients
        counts = np.array(clients.all("label_counts"))
        rarest = int(counts[~lying].sum(axis=0).argmin())
        counts[lying] = 0
        counts[lying, rarest] = np.ceil(self.times * np.median(clients.all("label_counts").sum(axis=1)))
        return claiming(clients, {"label_counts": counts})
