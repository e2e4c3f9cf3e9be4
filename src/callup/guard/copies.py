"""Copied and replayed updates: honest training never gives the same vector twice.

Vectors are compared by sketches of 64 numbers, which keep lengths and distances up to chance, so that the last update
of every client can be remembered whatever the size of the model.
"""

from __future__ import annotations

import functools

import numpy as np

from callup.core.randomness import stream

WIDTH = 64


@functools.lru_cache(maxsize=4)
def _hashing(key: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    rng = stream(key, "sketch", length)
    return rng.integers(0, WIDTH, length), rng.choice(np.array([-1.0, 1.0]), length)


def sketches(rows: np.ndarray, key: int) -> np.ndarray:
    """A count sketch of each row: every entry is added to, or taken from, one of 64 sums. Linear in the row."""
    bucket, sign = _hashing(key, rows.shape[1])
    out = np.empty((len(rows), WIDTH))
    for place, row in enumerate(rows):
        out[place] = np.bincount(bucket, np.asarray(row, np.float64) * sign, WIDTH)
    return out


def copies(sketched: np.ndarray, tolerance: float) -> np.ndarray:
    """A mask: which rows are, but for their scale, the same as another of these rows."""
    near = _apart(sketched[:, None, :], sketched[None, :, :]) <= tolerance
    np.fill_diagonal(near, False)
    return np.asarray(near.any(axis=1))


def same_direction(sketched: np.ndarray, other: np.ndarray, tolerance: float) -> np.ndarray:
    """A mask: which rows are a multiple of the other row, or of the row that stands opposite; zero is like nothing."""
    return np.asarray(_apart(sketched, other) <= tolerance)


def _apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The sine of the angle between rows; 1 where one of them is zero."""
    length_a, length_b = np.sqrt((a * a).sum(axis=-1)), np.sqrt((b * b).sum(axis=-1))
    both = (length_a > 0) & (length_b > 0)
    unit_a = a / np.where(length_a > 0, length_a, 1.0)[..., None]
    unit_b = b / np.where(length_b > 0, length_b, 1.0)[..., None]
    # From the differences, not from the product: 1 - cos loses all digits for vectors that are nearly alike.
    nearest = np.minimum(np.square(unit_a - unit_b).sum(axis=-1), np.square(unit_a + unit_b).sum(axis=-1))
    return np.asarray(np.where(both, np.sqrt(nearest), 1.0))
