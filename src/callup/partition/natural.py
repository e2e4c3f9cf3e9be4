"""Natural clients: everybody holds their own samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from callup.core.errors import InputError, UsageError
from callup.core.types import check_k
from callup.partition.scheme import PARTITIONS, Partition


@PARTITIONS.add("natural", paper="Caldas et al., LEAF, 2018")
@dataclass(frozen=True)
class Natural(Partition):
    """One client for each person the data come from: a writer, a user, somebody who carried a phone.

    Clients are numbered in the order of the owners' own numbers. Owners with too few samples are left out, and with
    `samples` everybody has equally many, drawn at random from their own. With `clients` so many owners are drawn from
    those that have enough. Only tasks whose data say whose each sample is can be split this way.
    """

    clients: int | None = None
    """None: everybody who has enough."""
    least: int = 1
    """Samples below which an owner is left out."""
    samples: int | None = None
    """For each client; owners with fewer are left out. None: all their own."""

    def __post_init__(self) -> None:
        check_k(self.least, "natural: least")
        for name in ("clients", "samples"):
            if getattr(self, name) is not None:
                check_k(getattr(self, name), f"natural: {name}")

    @property
    def draws(self) -> bool:
        return self.clients is not None or self.samples is not None

    def assign_owned(
        self, labels: np.ndarray, classes: int, rng: np.random.Generator, owners: np.ndarray | None
    ) -> Sequence[np.ndarray]:
        if owners is None:
            return self.assign(labels, classes, rng)
        owners = np.asarray(owners)
        if owners.shape != labels.shape or owners.dtype.kind not in "iu":
            raise InputError(
                f"owners must be whole numbers, one for each of the {len(labels):,} samples, "
                f"got {owners.dtype} of shape {owners.shape}"
            )
        order = np.argsort(owners, kind="stable")
        _, starts = np.unique(owners[order], return_index=True)
        enough = max(self.least, self.samples or 1)
        hands = [rows for rows in np.split(order, starts[1:]) if len(rows) >= enough]
        if len(hands) < (self.clients or 1):
            raise InputError(
                f"natural: {len(hands):,} of {len(starts):,} owners have at least {enough:,} samples, too few for "
                f"{self.clients or 1:,} clients; lower clients, least or samples"
            )
        if self.clients is not None:
            chosen = np.sort(rng.choice(len(hands), self.clients, replace=False))
            hands = [hands[owner] for owner in chosen]
        if self.samples is not None:
            hands = [rng.choice(rows, self.samples, replace=False) for rows in hands]
        return hands

    def assign(self, labels: np.ndarray, classes: int, rng: np.random.Generator) -> Sequence[np.ndarray]:  # noqa: ARG002
        raise UsageError(
            "natural: these data do not say whose each sample is; use a task with natural clients such as "
            "mnist-writers or har, or another partition such as dirichlet"
        )
