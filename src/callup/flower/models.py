"""Flower's named arrays as the flat vectors that selectors, filters and averages know, and back."""

from __future__ import annotations

import numpy as np
from flwr.app import Array, ArrayRecord


def flat(arrays: ArrayRecord) -> np.ndarray:
    """All arrays in one float32 vector, in the order of the record."""
    parts = [np.ravel(array.numpy()).astype(np.float32) for array in arrays.values()]
    return np.concatenate(parts) if parts else np.empty(0, np.float32)


def shaped(vector: np.ndarray, like: ArrayRecord) -> ArrayRecord:
    """The vector cut into arrays of the names, shapes and types of another record."""
    out: dict[str, Array] = {}
    at = 0
    for name, array in like.items():
        size = int(np.prod(array.shape, dtype=np.int64))
        piece = vector[at : at + size].reshape(array.shape)
        kind = np.dtype(array.dtype)
        out[name] = Array(np.ascontiguousarray((np.rint(piece) if kind.kind in "iu" else piece).astype(kind)))
        at += size
    return ArrayRecord(out)
