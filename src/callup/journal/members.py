"""A subset of known clients in few bytes: nothing when it is all of them, else a bit for each or a row for each."""

from __future__ import annotations

import numpy as np

from callup.core.errors import InputError
from callup.core.index import Ids
from callup.core.selector import Arrays


def pack_members(name: str, ids: Ids, among: Ids) -> Arrays:
    """`ids` and `among` are sorted and distinct; whichever way is shorter."""
    if ids is among or np.array_equal(ids, among):
        return {}
    rows = np.searchsorted(among, ids)
    if len(ids) > len(among) or not np.array_equal(among[np.minimum(rows, len(among) - 1)], ids):
        raise InputError(f"{name}: not all of these {len(ids):,} clients are known; write their profile first")
    rows = rows.astype(np.min_scalar_type(len(among)))
    if rows.nbytes <= len(among) // 8:
        return {f"{name} rows": rows}
    mask = np.zeros(len(among), bool)
    mask[rows] = True
    return {f"{name} bits": np.packbits(mask)}


def unpack_members(name: str, arrays: Arrays, among: Ids) -> Ids:
    """The subset again."""
    if f"{name} rows" in arrays:
        return np.asarray(among[arrays[f"{name} rows"]])
    if f"{name} bits" in arrays:
        bits = np.unpackbits(arrays[f"{name} bits"], count=len(among)).astype(bool)
        return np.asarray(among[bits])
    return among
