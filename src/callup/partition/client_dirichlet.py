"""Client heterogeneity: each class is broken over the clients by its own Dirichlet draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from callup.core.types import check_k
from callup.partition.pools import by_class, deal, nobody_empty
from callup.partition.scheme import PARTITIONS, Partition, check_enough, check_positive


@PARTITIONS.add("client-dirichlet", paper="Yurochkin et al., ICML 2019")
@dataclass(frozen=True)
class ClientDirichlet(Partition):
    """Client k receives the share pi[k, c] of class c, with pi[., c] ~ Dir(alpha * 1); labels and sizes both differ.

    Every sample is used once. A client left with nothing gets one sample of the largest client.
    """

    clients: int = 20
    alpha: float = 0.1

    def __post_init__(self) -> None:
        check_k(self.clients, "client-dirichlet: clients")
        check_positive(self.alpha, "client-dirichlet: alpha")

    def assign(self, labels: np.ndarray, classes: int, rng: np.random.Generator) -> Sequence[np.ndarray]:
        check_enough(labels, self.clients)
        totals = np.bincount(labels, minlength=classes)
        shares = rng.dirichlet(np.full(self.clients, self.alpha), classes)
        # Cuts at the running share: rounding never loses a sample.
        cuts = np.floor(np.cumsum(shares, axis=1) * totals[:, None] + 0.5).astype(np.int64)
        cuts[:, -1] = totals
        counts = np.diff(np.minimum(cuts, totals[:, None]), axis=1, prepend=0).T
        return deal(by_class(labels, classes, rng), nobody_empty(counts))
