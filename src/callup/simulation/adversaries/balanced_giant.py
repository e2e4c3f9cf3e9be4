"""Balanced giant: 'I am large, and I hold as much of every class'."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from callup.core.clients import Clients
from callup.simulation.adversaries.base import ADVERSARIES, Adversary, claiming


@ADVERSARIES.add("balanced-giant", paper="FedDua, arXiv 2504.12577, on dishonest volumes")
@dataclass(repr=False)
class BalancedGiant(Adversary):
    """Liars claim `times` the usual size with equal classes: any group they join looks balanced and is theirs."""

    times: float = 100.0

    def claim(self, clients: Clients) -> Clients:
        lying, columns = self.lies(clients.ids), {}
        if "label_counts" in clients:
            counts = np.array(clients.all("label_counts"))
            usual = float(np.median(counts.sum(axis=1)))
            counts[lying] = np.ceil(self.times * max(usual, 1.0) / counts.shape[1])
            columns["label_counts"] = counts
        elif "num_examples" in clients:
            sizes = np.array(clients.all("num_examples"))
            sizes[lying] = np.ceil(self.times * max(float(np.median(sizes)), 1.0))
            columns["num_examples"] = sizes
        return claiming(clients, columns) if columns else clients
