"""Mavericks: a few clients own a class that nobody else has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from callup.core.errors import InputError, UsageError
from callup.core.types import check_k
from callup.partition.pools import by_class, deal
from callup.partition.scheme import PARTITIONS, Partition


@PARTITIONS.add("mavericks", paper="FedEMD, Huang, Hong, Liu, Chen, Roos, 2021; PAKDD 2023")
@dataclass(frozen=True)
class Mavericks(Partition):
    """Clients 0 to count-1 own classes nobody else has; the other classes are split evenly over all clients.

    exclusive: each Maverick owns all of one class. shared: the Mavericks split their class between them.
    `owned` names the classes; by default they are the first ones.
    """

    clients: int = 50
    count: int = 1
    kind: Literal["exclusive", "shared"] = "exclusive"
    owned: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_k(self.clients, "mavericks: clients")
        check_k(self.count, "mavericks: count")
        if self.count > self.clients:
            raise UsageError(f"mavericks: {self.count} Mavericks among {self.clients} clients; count must not be more")
        if len(set(self.owned)) != len(self.owned):
            raise UsageError(f"mavericks: owned names a class twice: {'/'.join(map(str, self.owned))}")
        if self.kind == "exclusive" and self.owned and len(self.owned) != self.count:
            raise UsageError(
                f"mavericks: {self.count} exclusive Mavericks own one class each, but owned names {len(self.owned)}"
            )

    def assign(self, labels: np.ndarray, classes: int, rng: np.random.Generator) -> Sequence[np.ndarray]:
        owned = self.owned or tuple(range(self.count if self.kind == "exclusive" else 1))
        if not set(owned) < set(range(classes)):
            raise InputError(
                f"mavericks: owned classes {'/'.join(map(str, owned))} must be some, not all, of 0 to {classes - 1}"
            )
        totals = np.bincount(labels, minlength=classes)
        holders = [np.arange(self.clients)] * classes
        for place, label in enumerate(owned):
            holders[label] = np.array([place]) if self.kind == "exclusive" else np.arange(self.count)
        counts = np.zeros((self.clients, classes), np.int64)
        served = 0
        for label in range(classes):
            who, extra = holders[label], totals[label] % len(holders[label])
            counts[who, label] = totals[label] // len(who)
            # What does not divide goes to the next ones in turn, so that sizes stay even over all classes.
            counts[who[(served + np.arange(extra)) % len(who)], label] += 1
            served += extra
        return deal(by_class(labels, classes, rng), counts)
