"""IID: shuffle everything and cut it into equal parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from callup.core.types import check_k
from callup.partition.scheme import PARTITIONS, Partition, check_enough


@PARTITIONS.add("iid", paper="McMahan et al., AISTATS 2017")
@dataclass(frozen=True)
class Iid(Partition):
    """Every client holds an equal, random part of all samples; sizes differ by one at most."""

    clients: int = 100

    def __post_init__(self) -> None:
        check_k(self.clients, "iid: clients")

    def assign(self, labels: np.ndarray, classes: int, rng: np.random.Generator) -> Sequence[np.ndarray]:  # noqa: ARG002
        check_enough(labels, self.clients)
        return np.array_split(rng.permutation(len(labels)), self.clients)
