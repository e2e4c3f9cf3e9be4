"""Case 2 of Fed-CBS: clients of one class each, equally many for every class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from callup.core.types import check_k
from callup.partition.pools import by_class, deal, equal_hands, places
from callup.partition.scheme import PARTITIONS, Partition


@PARTITIONS.add("case2", paper="Fed-CBS, Zhang et al., ICML 2023, Section 5.2.2")
@dataclass(frozen=True)
class Case2(Partition):
    """Equal clients with one class each, as many for one class as for another: 200 clients, 20 for each of 10 classes.

    The imbalance comes from who is available: use it with the availability per-class, ratio 3 or 5.
    """

    clients: int = 200

    def __post_init__(self) -> None:
        check_k(self.clients, "case2: clients")

    def assign(self, labels: np.ndarray, classes: int, rng: np.random.Generator) -> Sequence[np.ndarray]:
        holders = places(self.clients, classes, 1, "case2: clients")
        hands = np.repeat(np.arange(classes), holders)[:, None]
        return deal(by_class(labels, classes, rng), equal_hands(labels, classes, hands))
