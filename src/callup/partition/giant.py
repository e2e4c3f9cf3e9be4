"""Giant: one client holds most of the data, everyone else a little of the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from callup.core.errors import InputError, UsageError
from callup.core.types import check_k
from callup.partition.scheme import PARTITIONS, Partition


@PARTITIONS.add("giant", paper="FedEMD, Huang, Hong, Liu, Chen, Roos, 2021, Remark 2")
@dataclass(frozen=True)
class Giant(Partition):
    """Client 0 holds this share of all samples, the other clients equal parts of the rest, all drawn at random."""

    clients: int = 50
    share: float = 0.9

    def __post_init__(self) -> None:
        check_k(self.clients, "giant: clients")
        if not 0 < self.share < 1:
            raise UsageError(f"giant: share must lie between 0 and 1, got {self.share}")

    def assign(self, labels: np.ndarray, classes: int, rng: np.random.Generator) -> Sequence[np.ndarray]:  # noqa: ARG002
        order = rng.permutation(len(labels))
        if self.clients == 1:
            return [order]
        held = round(self.share * len(labels))
        if len(labels) - held < self.clients - 1:
            raise InputError(
                f"giant: {len(labels) - held} samples are left for {self.clients - 1} clients; use a smaller share"
            )
        return [order[:held], *np.array_split(order[held:], self.clients - 1)]
