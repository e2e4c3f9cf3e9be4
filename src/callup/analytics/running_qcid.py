"""QCID of a set that grows by one client at a time, for everyone who may be the next; never the N x N matrix."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from callup.core.clients import Clients
from callup.core.index import Ids

_BLOCK = 1 << 15  # clients at a time: their numbers stay in the processor's cache


class RunningQcid:
    """With S[n,n'] the inner product of two clients' class counts and M the set so far, keeps for each candidate c

    what c would add to the sum over all pairs, S[c,c] + 2 sum_{n in M} S[n,c].
    """

    def __init__(self, clients: Clients, ids: Ids, classes: int) -> None:
        self.sizes = clients.of("num_examples", ids)
        own, self._products_with = _inner_products(clients, ids)
        self._adds, self._qcid, self._classes = own.copy(), np.empty(len(ids)), classes
        self.samples, self._inside = 0.0, 0.0
        self._last: int | None = None  # whose products are still to be added
        self._parts = [slice(at, at + _BLOCK) for at in range(0, len(ids), _BLOCK)]

    def of_each(self, could: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """QCID(M + c) for each c, overwritten by the next call; and the row of the lowest in each block of those who

        could be next.
        """
        lowest = np.empty(len(self._parts), np.intp)
        for place, part in enumerate(self._parts):
            adds, qcid = self._adds[part], self._qcid[part]
            if self._last is not None:
                adds += self._products_with(self._last, part)
            _write_qcid(adds + self._inside, self.sizes[part] + self.samples, self._classes, out=qcid)
            lowest[place] = part.start + np.where(could[part], qcid, np.inf).argmin()
        self._last = None
        return self._qcid, lowest[could[lowest]]

    def take(self, row: int) -> None:
        """This one joins the set; `of_each` must have been asked before."""
        self.samples, self._inside, self._last = self.samples + self.sizes[row], self._inside + self._adds[row], row


def _inner_products(clients: Clients, ids: Ids) -> tuple[np.ndarray, Callable[[int, slice], np.ndarray]]:
    """S[n,n] of each client, and a function from a row to its 2 S[n,c] with a part of all c."""
    if "label_counts" in clients:
        counts = clients.all("label_counts")
        own = clients.derived("squares of label_counts", lambda: np.square(counts).sum(axis=1))
        by_class = clients.derived("label_counts by class", lambda: np.ascontiguousarray(counts.T))
        if len(ids) < len(clients):
            rows = clients.index.rows(ids)
            own, by_class = own[rows], by_class[:, rows]
        return own, lambda row, part: np.asarray(2 * (by_class[:, row] @ by_class[:, part]))
    gram, rows = clients.all("label_gram"), clients.index.rows(ids)
    return np.diagonal(gram)[rows], lambda row, part: np.asarray(2 * gram[rows[row], rows[part]])


def _write_qcid(products: np.ndarray, samples: np.ndarray, classes: int, out: np.ndarray) -> None:
    """Theorem 3.1 over one denominator, (B sum S - n^2) / (B n^2): whole counts give an exact zero when balanced.

    Sets without samples have no QCID; theirs is that of a single class, the worst there is.
    """
    square = np.square(samples, out=samples)
    excess = np.multiply(products, classes, out=products)
    excess -= square
    square *= classes
    if not square.all():
        empty = square == 0
        excess[empty], square[empty] = classes - 1, classes
    np.divide(excess, square, out=out)
