"""State addressed by client id: clients may join and leave, and nobody counts positions."""

from __future__ import annotations

import numpy as np

from callup.core.errors import InputError
from callup.core.index import Ids, Index

_FEW = 1000  # new clients: a round's worth, not a whole federation


class PerClient:
    """One number, or one row of numbers, for each client; a client never written to has the default."""

    def __init__(self, default: float | np.ndarray = 0.0, dtype: type = np.float64) -> None:
        self.default: np.ndarray = np.asarray(default, dtype)
        self._index = Index(np.empty(0, np.int64))
        self._values = np.empty((0, *self.default.shape), dtype)

    @property
    def ids(self) -> Ids:
        """Clients that have been written to, sorted."""
        return self._index.ids

    @property
    def values(self) -> np.ndarray:
        """Their values, in the order of `ids`."""
        return self._values

    def get(self, ids: Ids) -> np.ndarray:
        rows, here = self._index.find(ids)
        if here.all() and len(self._values):
            return np.asarray(self._values[rows])
        out = np.empty((len(rows), *self.default.shape), self.default.dtype)
        out[...] = self.default
        out[here] = self._values[rows[here]]
        return out

    def knows(self, ids: Ids) -> np.ndarray:
        """A mask: which of these have been written to."""
        return self._index.find(ids)[1]

    def set(self, ids: Ids, values: np.ndarray | float) -> None:
        fitting = self._fitting(ids, values)
        self._make_room(ids)
        self._values[self._index.rows(ids)] = fitting

    def add(self, ids: Ids, values: np.ndarray | float) -> None:
        """Adds; an id that occurs twice is added twice."""
        fitting = self._fitting(ids, values)
        self._make_room(ids)
        np.add.at(self._values, self._index.rows(ids), fitting)

    def forget(self, ids: Ids) -> None:
        """Back to the default, and the room is given up."""
        stay = ~np.isin(self._index.ids, ids)
        self._values = self._values[stay]
        self._index = Index(self._index.ids[stay])

    def state(self) -> dict[str, np.ndarray]:
        return {"ids": self.ids.copy(), "values": self._values.copy(), "default": self.default.copy()}

    @classmethod
    def from_state(cls, state: dict[str, np.ndarray]) -> PerClient:
        missing = [key for key in ("ids", "values", "default") if key not in state]
        if missing:
            raise InputError(f"damaged per-client state: no '{missing[0]}'")
        ids, values, default = (np.array(state[key]) for key in ("ids", "values", "default"))
        fits = ids.ndim == 1 and values.shape == (len(ids), *default.shape) and values.dtype == default.dtype
        if not fits or ids.dtype != np.int64 or not (np.diff(ids) > 0).all():
            raise InputError(
                f"damaged per-client state: ids {ids.shape}, values {values.shape}, default {default.shape}"
            )
        new = cls(default, default.dtype.type)
        new._index, new._values = Index(ids), values
        return new

    def _fitting(self, ids: Ids, values: np.ndarray | float) -> np.ndarray:
        """The values with one row for each id; what does not fit is refused before anything is written."""
        try:
            return np.broadcast_to(np.asarray(values), (len(ids), *self.default.shape))
        except ValueError as error:
            shape = (len(ids), *self.default.shape)
            raise InputError(f"per-client values must have shape {shape}, got {np.shape(values)}") from error

    def _make_room(self, ids: Ids) -> None:
        new = np.unique(np.asarray(ids, np.int64)[~self._index.find(ids)[1]])
        if not len(new):
            return
        places = np.searchsorted(self._index.ids, new)
        fresh = np.empty((len(new), *self.default.shape), self.default.dtype)
        fresh[...] = self.default
        self._values = _inserted(self._values, places, fresh)
        self._index = Index(_inserted(self._index.ids, places, new))


def _inserted(old: np.ndarray, places: np.ndarray, new: np.ndarray) -> np.ndarray:
    """New rows before these places, which are sorted: `np.insert`, but what lies between two places moves as one."""
    if len(new) > _FEW:
        return np.insert(old, places, new, axis=0)
    ends = np.append(places[1:], len(old)).tolist()
    pieces = [old[: places[0]]]
    for row, (begin, end) in enumerate(zip(places.tolist(), ends, strict=True)):
        pieces += [new[row : row + 1], old[begin:end]]
    return np.concatenate(pieces)
