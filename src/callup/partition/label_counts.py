"""Label counts of one's own: public data dealt out as a real federation's labels are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from callup.core.errors import InputError
from callup.core.types import check_k
from callup.partition.label_file import read_labels
from callup.partition.scheme import PARTITIONS, Partition, check_enough


@PARTITIONS.add("label-counts", paper="Callup")
@dataclass(frozen=True)
class LabelCounts(Partition):
    """Every client gets samples of each class in proportion to a file of label counts.

    Where there are fewer samples than the file counts, all clients get the same part of theirs: the largest for which
    every class suffices. Parts of a sample go to clients at random, in proportion. Clients without samples in the file
    are left out; one whose part comes to nothing gets one sample of its main class. Classes are taken in the order of
    the file, whatever their names. `callup analyze` reads the same files.
    """

    file: str
    """CSV or JSON."""
    clients: int | None = None
    """So many are drawn from those with samples. None: all of them."""

    def __post_init__(self) -> None:
        if self.clients is not None:
            check_k(self.clients, "label-counts: clients")

    def assign(self, labels: np.ndarray, classes: int, rng: np.random.Generator) -> Sequence[np.ndarray]:
        counts = read_labels(Path(self.file)).counts
        counts = counts[counts.any(axis=1)]
        if self.clients is not None:
            if self.clients > len(counts):
                raise InputError(f"{self.file} has {len(counts)} clients with samples, not {self.clients}")
            counts = counts[np.sort(rng.choice(len(counts), self.clients, replace=False))]
        if counts.shape[1] > classes:
            raise InputError(f"{self.file} has {counts.shape[1]} classes, the data {classes}; take data with as many")
        check_enough(labels, len(counts))
        rows: list[list[np.ndarray]] = [[] for _ in counts]
        for label, wanted in enumerate(self._parts(counts, np.bincount(labels, minlength=classes), rng).T):
            dealt = rng.permutation(np.flatnonzero(labels == label))
            for client, part in enumerate(np.split(dealt, np.cumsum(wanted))[:-1]):
                rows[client].append(part)
        return [np.concatenate(parts) for parts in rows]

    def _parts(self, counts: np.ndarray, there: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Whole numbers of samples for each client and class, no more of a class than there are."""
        there = there[: counts.shape[1]]
        totals = counts.sum(axis=0)
        if (there[totals > 0] == 0).any():
            raise InputError(
                f"{self.file} has samples of class {int(np.argmax((totals > 0) & (there == 0)))}, the data none"
            )
        scale = min(1.0, float(np.min(there[totals > 0] / totals[totals > 0])))
        exact = scale * counts
        whole = np.floor(exact + 1e-9).astype(np.int64)
        for label in range(counts.shape[1]):
            short = round(float(exact[:, label].sum())) - int(whole[:, label].sum())
            rest = exact[:, label] - whole[:, label]
            some = np.flatnonzero(rest > 1e-9)
            if short > 0 and len(some):
                chosen = rng.choice(some, min(short, len(some)), replace=False, p=rest[some] / rest[some].sum())
                whole[chosen, label] += 1
        for client in np.flatnonzero(~whole.any(axis=1)):
            label = int(counts[client].argmax())
            if whole[:, label].sum() == there[label]:
                whole[whole[:, label].argmax(), label] -= 1  # whoever has most gives one up
            whole[client, label] += 1
        return whole
