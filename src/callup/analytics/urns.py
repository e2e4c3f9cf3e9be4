"""Urns: clients, by their share of the data, poured into urns of which each gives one draw.

Fraboni et al., ICML 2021. When every urn holds as much as every other and all are full, a client's expected number of
draws is its share of the data times the number of urns, however the clients were poured.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Urns(NamedTuple):
    """Portions in the order of urns: of which row, in which urn, how much."""

    row: np.ndarray
    urn: np.ndarray
    amount: np.ndarray

    def only(self, portions: np.ndarray) -> Urns:
        """The portions where the mask is true."""
        return Urns(self.row[portions], self.urn[portions], self.amount[portions])


def poured(amounts: np.ndarray, rooms: np.ndarray) -> Urns:
    """Rows poured one after the other, each into the first urn that has room; what overflows goes into the next.

    There must be as much room as there is to pour. Whole numbers stay exact.

    >>> poured(np.array([5.0, 3.0, 1.0]), np.array([3.0, 3.0, 3.0]))
    Urns(row=array([0, 0, 1, 1, 2]), urn=array([0, 1, 1, 2, 2]), amount=array([3., 2., 1., 2., 1.]))
    """
    if not amounts.any():
        return Urns(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0))
    reach, edge = np.cumsum(amounts), np.cumsum(rooms)
    cuts = np.union1d(reach[amounts > 0], edge[rooms > 0])
    portion = np.diff(cuts, prepend=0.0)
    middle = cuts - portion / 2
    # What rounding leaves beyond the last edge belongs to the last row and the last urn.
    row = np.minimum(np.searchsorted(reach, middle, side="right"), len(reach) - 1)
    urn = np.minimum(np.searchsorted(edge, middle, side="right"), len(edge) - 1)
    return Urns(row, urn, portion)


def grouped(group: np.ndarray, amounts: np.ndarray, count: int, room: float) -> Urns:
    """The heaviest `count` groups are urns, the lightest of them first; rows of other groups fill them to `room`.

    No group may be heavier than `room`, and all rows together weigh `count` times as much.

    >>> grouped(np.array([7, 7, 5, 9]), np.array([2.0, 1.0, 2.0, 3.0]), count=2, room=4.0)
    Urns(row=array([0, 1, 2, 2, 3]), urn=array([0, 0, 0, 1, 1]), amount=array([2., 1., 1., 1., 3.]))
    """
    names, group = np.unique(group, return_inverse=True)
    weight = np.bincount(group, amounts, minlength=len(names))
    rank = np.empty(len(names), np.intp)
    rank[np.argsort(weight, kind="stable")] = np.arange(len(names))
    urn = (rank - (len(names) - count))[group]  # below zero: a group without an urn, the lightest at the bottom
    settled, loose = np.flatnonzero(urn >= 0), np.flatnonzero(urn < 0)
    loose = loose[np.argsort(urn[loose], kind="stable")]
    taken = np.bincount(urn[settled], amounts[settled], minlength=count)
    rest = poured(amounts[loose], np.maximum(room - taken, 0.0))
    return in_order(Urns(settled, urn[settled], amounts[settled]), Urns(loose[rest.row], rest.urn, rest.amount))


def in_order(*parts: Urns) -> Urns:
    """All portions together, in the order of urns and, inside an urn, of rows."""
    row, urn, amount = (np.concatenate(each) for each in zip(*parts, strict=True))
    order = np.lexsort((row, urn))
    return Urns(row[order], urn[order], amount[order])


def drawn(urns: Urns, count: int, rng: np.random.Generator) -> np.ndarray:
    """One row from each of `count` urns, in proportion to the amounts inside; -1 from an urn that is empty."""
    luck = rng.random(count)
    held = urns.only(urns.amount > 0)
    rows = np.full(count, -1)
    if not len(held.urn):
        return rows
    present, first = np.unique(held.urn, return_index=True)
    last = np.append(first[1:], len(held.urn)) - 1
    reach = np.cumsum(held.amount)
    start = reach[first] - held.amount[first]
    places = np.searchsorted(reach, start + luck[present] * (reach[last] - start), side="right")
    rows[present] = held.row[np.clip(places, first, last)]
    return rows
