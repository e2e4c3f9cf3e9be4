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


def with_rows(memory: PerClient, ids: Ids, rows: np.ndarray, who: str) -> PerClient:
    """The memory after these clients sent these rows; a row of another length than those before is refused."""
    length, known = rows.shape[1], memory.default.shape[0]
    if not known:
        memory = PerClient(np.zeros(length), np.float32)
    elif length != known:
        raise InputError(f"{who}: clients sent vectors of {known} numbers before, now of {length}")
    memory.set(ids, np.clip(rows, -_MOST, _MOST).astype(np.float32))
    return memory
