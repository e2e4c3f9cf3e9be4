"""Mavericks: who owns a class almost alone, read from label counts, with the shares that show it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from callup.core.errors import InputError
from callup.core.index import Ids

_MOST, _NEARLY_ALL, _CONCENTRATED = 0.5, 0.9, 2.0


@dataclass(frozen=True)
class Maverick:
    """One client that owns one class, alone or with a few others, and the evidence."""

    client: int
    label: int
    kind: Literal["exclusive", "shared"]
    share: float
    """Of the class's samples that this client holds."""
    elsewhere: float
    """Of all other classes' samples that it holds: what its size alone would explain."""
    group: tuple[int, ...]
    """Everyone who owns the class with it, itself included."""


def find(counts: np.ndarray, ids: Ids | None = None, few: int = 3) -> list[Maverick]:
    """The Mavericks of a federation, (N, B) class counts in; by class, then by share.

    exclusive: holds more than half of a class. shared: belongs to a group of at most `few` who together hold at
    least nine tenths of one. Either way the share, the group's together, must be at least twice the share of the
    other classes that they hold, or a client that is merely large would count. Definition 1 of FedEMD (Huang et
    al., 2021) asks for all of the class; the halves and tenths let in the "almost" of its introduction.

    >>> find(np.array([[5, 20], [5, 0], [5, 0]]))
    [Maverick(client=0, label=1, kind='exclusive', share=1.0, elsewhere=0.3333333333333333, group=(0,))]
    """
    table = np.asarray(counts, np.float64)
    if table.ndim != 2:
        raise InputError(f"class counts must have shape (clients, classes), got {table.shape}")
    names = np.arange(len(table)) if ids is None else np.asarray(ids)
    totals, sizes = table.sum(axis=0), table.sum(axis=1)
    found: list[Maverick] = []
    for label in np.flatnonzero((totals > 0) & (totals < totals.sum())):
        share = table[:, label] / totals[label]
        elsewhere = (sizes - table[:, label]) / (totals.sum() - totals[label])
        owners = _owners(share, few)
        if len(owners) == 0 or share[owners].sum() < _CONCENTRATED * elsewhere[owners].sum():
            continue
        kind: Literal["exclusive", "shared"] = "exclusive" if len(owners) == 1 else "shared"
        group = tuple(int(client) for client in names[owners])
        found += [
            Maverick(int(names[i]), int(label), kind, float(share[i]), float(elsewhere[i]), group) for i in owners
        ]
    return found


def _owners(share: np.ndarray, few: int) -> np.ndarray:
    """The holder of more than half, or else the smallest group of at most `few` holding nine tenths; nobody if none.

    Holders of equal shares are in the group together or not at all.
    """
    order = np.argsort(-share, kind="stable")
    if share[order[0]] > _MOST:
        return order[:1]
    reached = np.cumsum(share[order]) >= _NEARLY_ALL - 1e-12
    least = share[order[int(reached.argmax())]]
    group = order[share[order] >= least]
    return group if len(group) <= few else order[:0]
