"""What every partition scheme is: labels in, the rows each client holds out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from callup.core.errors import InputError
from callup.core.index import Ids
from callup.core.registry import Card, Registry


@dataclass(frozen=True)
class Shards:
    """Client `ids[i]` holds the samples `rows[i]` of the training set."""

    ids: Ids
    rows: tuple[np.ndarray, ...]

    def __post_init__(self) -> None:
        if len(self.ids) != len(self.rows) or len(self.ids) == 0:
            raise InputError(f"a federation needs one list of samples for each client, got {len(self.rows)}")

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def sizes(self) -> np.ndarray:
        return np.array([len(rows) for rows in self.rows], np.int64)

    def label_counts(self, labels: np.ndarray, classes: int) -> np.ndarray:
        """One row of class counts for each client."""
        return np.stack([np.bincount(labels[rows], minlength=classes) for rows in self.rows])


class Partition(ABC):
    """A scheme; its dataclass fields are its parameters. Nothing about it changes after it is made."""

    card: ClassVar[Card]

    @abstractmethod
    def split(self, labels: np.ndarray, classes: int, rng: np.random.Generator) -> Shards:
        """Spreads the samples; every random choice comes from `rng`."""


PARTITIONS: Registry[Partition] = Registry("partition", "callup.partition")
