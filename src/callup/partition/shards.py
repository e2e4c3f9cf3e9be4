"""Shards: sort by label, cut into pieces, hand a few pieces to each client."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from callup.core.types import check_k
from callup.partition.pools import by_class
from callup.partition.scheme import PARTITIONS, Partition, check_enough


@PARTITIONS.add("shards", paper="McMahan et al., AISTATS 2017")
@dataclass(frozen=True)
class SortedShards(Partition):
    """Sort samples by label, cut them into equal shards and give each client a few, so most see few classes.

    Samples of one class are in random order before the cut. Shards differ by one sample at most.
    """

    clients: int = 100
    each: int = 2
    """Shards for each client."""

    def __post_init__(self) -> None:
        check_k(self.clients, "shards: clients")
        check_k(self.each, "shards: each")

    def assign(self, labels: np.ndarray, classes: int, rng: np.random.Generator) -> Sequence[np.ndarray]:
        check_enough(labels, self.clients * self.each)
        shards = np.array_split(np.concatenate(by_class(labels, classes, rng)), self.clients * self.each)
        hands = rng.permutation(len(shards)).reshape(self.clients, self.each)
        return [np.concatenate([shards[shard] for shard in hand]) for hand in hands]
