"""What every partition scheme is: labels in, the rows each client holds out."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from callup.core.errors import InputError, UsageError
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

    @property
    def shares(self) -> bool:
        """Whether a sample may be held more than once, by two clients or by the same one."""
        return False

    @property
    def draws(self) -> bool:
        """Whether anything is left to chance."""
        return True

    def split(
        self, labels: np.ndarray, classes: int, rng: np.random.Generator, owners: np.ndarray | None = None
    ) -> Shards:
        """Spreads the samples over clients 0, 1, 2, ...; every random choice comes from `rng`.

        `owners` says whose each sample is, where the data tell; most schemes do not look at it.
        """
        rows = self.assign_owned(_checked(labels, classes), classes, rng, owners)
        for client, held in enumerate(rows):
            if len(held) == 0:
                raise InputError(
                    f"client {client} would hold none of the {len(labels):,} samples; use fewer clients or more data"
                )
        # In the order of the training set: nothing downstream then depends on the order in which classes were dealt.
        return Shards(np.arange(len(rows)), tuple(np.sort(held) for held in rows))

    def assign_owned(
        self,
        labels: np.ndarray,
        classes: int,
        rng: np.random.Generator,
        owners: np.ndarray | None,  # noqa: ARG002
    ) -> Sequence[np.ndarray]:
        """As `assign`, for a scheme that looks at owners."""
        return self.assign(labels, classes, rng)

    @abstractmethod
    def assign(self, labels: np.ndarray, classes: int, rng: np.random.Generator) -> Sequence[np.ndarray]:
        """The rows of each client; labels are whole numbers from 0 to classes - 1, at least one of them."""


PARTITIONS: Registry[Partition] = Registry("partition", "callup.partition")


def check_positive(value: float, what: str) -> None:
    """A finite number above 0."""
    if not 0 < value < math.inf:
        raise UsageError(f"{what} must be a finite number above 0, got {value}")


def check_enough(labels: np.ndarray, clients: int) -> None:
    """At least one sample for each client."""
    if clients > len(labels):
        raise InputError(
            f"{clients:,} clients cannot share {len(labels):,} samples; use at most {len(labels):,} clients"
        )


def _checked(labels: np.ndarray, classes: int) -> np.ndarray:
    labels = np.asarray(labels)
    if labels.ndim != 1 or len(labels) == 0 or labels.dtype.kind not in "iu":
        raise InputError(
            f"labels must be whole numbers, one for each sample, got {labels.dtype} of shape {labels.shape}"
        )
    if int(labels.min()) < 0 or int(labels.max()) >= classes:
        odd = labels.max() if int(labels.max()) >= classes else labels.min()
        raise InputError(f"labels of {classes} classes run from 0 to {classes - 1}, got {odd}")
    return labels.astype(np.int64)
