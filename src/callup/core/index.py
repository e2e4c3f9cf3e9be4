"""Where each client id stands: the one place that turns names into rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from callup.core.errors import InputError

Ids = np.ndarray
"""int64 client ids: names, never positions."""


def as_ids(ids: Iterable[int] | np.ndarray, what: str = "client ids") -> Ids:
    """Whole non-negative numbers as int64, refused by name when they are anything else."""
    try:
        array = np.asarray(ids if isinstance(ids, np.ndarray) else list(ids))
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be a flat list of whole numbers, got {_show(ids)}") from error
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InputError(f"{what} must be a flat list of whole numbers, got {_show(array)}")
    if array.dtype.kind == "u" and array.max() > np.iinfo(np.int64).max:
        raise InputError(f"{what} must fit into 63 bits, got {array.max()}; number the clients 0, 1, 2, ... instead")
    if array.min() < 0:
        raise InputError(f"{what} must not be negative, got {array.min()}")
    return array.astype(np.int64)


def repeated(ordered: Ids) -> int | None:
    """The lowest of sorted ids that is there twice, if any."""
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    return int(twice[0]) if len(twice) else None


class Index:
    """Sorted distinct ids and the rows they stand in; ids 0..n-1 need no search."""

    def __init__(self, ids: Ids) -> None:
        self.ids = ids
        self._dense = len(ids) > 0 and int(ids[0]) == 0 and int(ids[-1]) == len(ids) - 1

    def __len__(self) -> int:
        return len(self.ids)

    def find(self, ids: Ids) -> tuple[np.ndarray, np.ndarray]:
        """Rows, and a mask of the ids that are here; rows of the others are 0 and mean nothing."""
        ids = np.asarray(ids, np.int64)
        if len(self.ids) == 0:
            return np.zeros(len(ids), np.intp), np.zeros(len(ids), bool)
        if self._dense:
            here = (ids >= 0) & (ids < len(self.ids))
            return (ids if here.all() else np.where(here, ids, 0)).astype(np.intp), here
        if len(ids) > len(self.ids) and (ids[1:] > ids[:-1]).all():
            return self._found_from_here(ids)
        rows = np.searchsorted(self.ids, ids)
        rows[rows == len(self.ids)] = 0
        here = self.ids[rows] == ids
        return rows, here

    def _found_from_here(self, ids: Ids) -> tuple[np.ndarray, np.ndarray]:
        """The same for more ids than are here, sorted and distinct: fewer searches when those here look for theirs."""
        places = np.searchsorted(ids, self.ids)
        places[places == len(ids)] = 0
        met = np.flatnonzero(ids[places] == self.ids)
        rows, here = np.zeros(len(ids), np.intp), np.zeros(len(ids), bool)
        rows[places[met]], here[places[met]] = met, True
        return rows, here

    def rows(self, ids: Ids) -> np.ndarray:
        """Rows of ids that must all be here."""
        rows, here = self.find(ids)
        if not here.all():
            missing = np.asarray(ids)[~here]
            raise InputError(
                f"unknown client {missing[0]}" + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
            )
        return rows


def _show(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
