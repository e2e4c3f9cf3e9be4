"""What is known of each client before any round: sizes, label counts, features, and any column you add."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from callup.core.errors import InputError, MissingSignal
from callup.core.index import Ids, Index, as_ids
from callup.core.signals import SIGNALS, Shape

T = TypeVar("T")


class Clients:
    """A table of clients, addressed by id and kept in the order of ids, so row order never matters.

    >>> clients = Clients([7, 3], num_examples=[10, 20], label_counts=[[10, 0], [5, 15]])
    >>> clients.ids
    array([3, 7])
    >>> clients.of("num_examples", np.array([7, 3]))
    array([10., 20.])
    """

    def __init__(self, ids: Iterable[int] | np.ndarray, **columns: Any) -> None:
        given = as_ids(ids)
        if len(given) == 0:
            raise InputError("a federation needs at least one client")
        order = np.argsort(given, kind="stable")
        self.ids: Ids = _frozen(given[order])
        twice = self.ids[1:][np.diff(self.ids) == 0]
        if len(twice):
            raise InputError(f"client {twice[0]} is listed twice")
        self.index = Index(self.ids)
        self._columns = {
            name: _column(name, value, order, self.ids) for name, value in columns.items() if value is not None
        }
        self._derived: dict[str, Any] = {}
        if "num_examples" not in self._columns and "label_counts" in self._columns:
            self._columns["num_examples"] = _frozen(_totals(self._columns["label_counts"], self.ids))
        self._check_together()

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Clients({len(self)} clients; {', '.join(self._columns) or 'no columns'})"

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    @property
    def columns(self) -> Mapping[str, np.ndarray]:
        """Every column, rows in the order of `ids`."""
        return self._columns

    def all(self, name: str) -> np.ndarray:
        """A column for every client, in the order of `ids`."""
        if name not in self._columns:
            raise MissingSignal(f"clients have no column '{name}'; known: {', '.join(self._columns) or 'none'}")
        return self._columns[name]

    def of(self, name: str, ids: Ids) -> np.ndarray:
        """A column for these clients, in their order; for pairs, the block among them."""
        column, rows = self.all(name), self.index.rows(ids)
        shape = _shape(name)
        if shape == "total":
            return column
        return np.asarray(column[np.ix_(rows, rows)] if shape == "pairs" else column[rows])

    def only(self, *names: str) -> Clients:
        """The same clients with these columns alone: a selector sees what it declared and nothing else."""
        view = object.__new__(Clients)
        view.ids, view.index, view._derived = self.ids, self.index, {}
        view._columns = {name: self._columns[name] for name in names if name in self._columns}
        return view

    def among(self, ids: Ids) -> Clients:
        """These clients alone, with every column."""
        columns = {name: self.of(name, ids) for name in self._columns}
        return Clients(ids, **columns)

    def derived(self, key: str, compute: Callable[[], T]) -> T:
        """A value computed once from this table and kept with it; the table never changes, so it stays true."""
        if key not in self._derived:
            self._derived[key] = compute()
        value: T = self._derived[key]
        return value

    def _check_together(self) -> None:
        if {"num_examples", "label_counts"} <= self._columns.keys():
            sizes, totals = self._columns["num_examples"], _totals(self._columns["label_counts"], self.ids)
            wrong = np.flatnonzero(np.abs(sizes - totals) > 0.5 + 1e-9 * totals)
            if len(wrong):
                i = wrong[0]
                raise InputError(
                    f"client {self.ids[i]}: num_examples is {sizes[i]:g} but its label_counts add up to {totals[i]:g}"
                )


def _totals(counts: np.ndarray, ids: Ids) -> np.ndarray:
    """How many samples each client says it has; counts that add up to no number are refused."""
    with np.errstate(over="ignore"):
        totals = np.asarray(counts.sum(axis=1))
    if not np.isfinite(totals).all():
        raise InputError(f"client {ids[~np.isfinite(totals)][0]}: label_counts are too large to be added up")
    return totals


def _shape(name: str) -> Shape | None:
    return SIGNALS[name].shape if name in SIGNALS else None


def _column(name: str, value: Any, order: np.ndarray, ids: Ids) -> np.ndarray:
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise InputError(f"{name}: every client needs a row of the same length") from error
    shape = _shape(name)
    if shape is not None and array.dtype.kind not in "biuf":
        raise InputError(f"{name} must be numbers, got {array.dtype}")
    n = len(order)
    expected = {"number": (n,), "row": (n, -1), "pairs": (n, n), "total": (-1,), None: (n, *[-1] * (array.ndim - 1))}
    wanted = expected[shape]
    if len(wanted) != array.ndim or any(w not in (-1, got) for w, got in zip(wanted, array.shape, strict=True)):
        shown = ", ".join("any" if w == -1 else str(w) for w in wanted)
        raise InputError(f"{name} must have shape ({shown}), got {array.shape}")
    # One copy, which is the table's own: in order, and of float64 where the vocabulary says what it holds.
    if shape != "total":
        array = array[np.ix_(order, order)] if shape == "pairs" else array[order]
    array = array.astype(array.dtype if shape is None else np.float64, copy=shape == "total")
    if shape is not None:
        _check_values(name, array, ids, shape)
    return _frozen(np.ascontiguousarray(array))


def _frozen(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array


def _check_values(name: str, array: np.ndarray, ids: Ids, shape: Shape) -> None:
    lowest = SIGNALS[name].lowest
    ends = array.min(initial=np.inf), array.max(initial=-np.inf)  # NaN, if there is one
    if not array.size or (np.isfinite(ends).all() and (lowest is None or ends[0] >= lowest)):
        return
    bad = ~np.isfinite(array)
    if lowest is not None:
        bad |= array < lowest
    if bad.any():
        where = np.argwhere(bad)[0]
        who = "" if shape == "total" else f"client {ids[where[0]]}: "
        floor = "" if lowest is None else f" of at least {lowest:g}"
        raise InputError(f"{who}{name} must be a finite number{floor}, got {array[tuple(where)]:g}")
