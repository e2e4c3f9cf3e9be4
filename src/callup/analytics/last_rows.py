"""The last vector each client sent: gradients or updates, all of one length, kept as float32."""

from __future__ import annotations

import numpy as np

from callup.core.errors import InputError
from callup.core.index import Ids
from callup.core.per_client import PerClient

_MOST = 1e38  # float32 ends soon after


def no_rows() -> PerClient:
    """Nothing sent yet; how long the vectors are is settled by the first that come."""
    return PerClient(np.empty(0), np.float32)


def table(memory: PerClient, ids: Ids, sent: Ids, rows: np.ndarray, who: str) -> tuple[np.ndarray, np.ndarray]:
    """The rows of these clients as they will be once `rows` have been kept, and a mask: who has one. Keeps nothing.

    `ids` are sorted, and whoever sent a row is among them.
    """
    known = memory.knows(ids)
    if not len(sent):
        return memory.get(ids), known
    _check_length(memory, rows, who)
    out = memory.get(ids) if memory.default.size else np.zeros((len(ids), rows.shape[1]), np.float32)
    places = np.searchsorted(ids, sent)
    out[places], known[places] = _kept(rows), True
    return out, known


def with_rows(memory: PerClient, ids: Ids, rows: np.ndarray, who: str) -> PerClient:
    """The memory after these clients sent these rows; a row of another length than those before is refused."""
    _check_length(memory, rows, who)
    if not memory.default.size:
        memory = PerClient(np.zeros(rows.shape[1]), np.float32)
    memory.set(ids, _kept(rows))
    return memory


def check_rows(memory: PerClient, sent: list[np.ndarray], who: str) -> None:
    """Refuses rows of another length than those before, or than each other, before any of them is kept."""
    for rows in sent:
        _check_length(memory, rows, who)
    lengths = {rows.shape[1] for rows in sent}
    if len(lengths) > 1:
        raise InputError(f"{who}: clients sent vectors of {' and of '.join(map(str, sorted(lengths)))} numbers")


def _kept(rows: np.ndarray) -> np.ndarray:
    return np.asarray(np.clip(rows, -_MOST, _MOST), np.float32)


def _check_length(memory: PerClient, rows: np.ndarray, who: str) -> None:
    known, length = memory.default.size, rows.shape[1]
    if known and length != known:
        raise InputError(f"{who}: clients sent vectors of {known} numbers before, now of {length}")
