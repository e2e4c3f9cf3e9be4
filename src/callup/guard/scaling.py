"""Robust scales: one enormous value among many changes nothing for the others.

Values further from the median than `reach` robust deviations are pulled in to that distance. The order of all others
stays as it was.
"""

from __future__ import annotations

import numpy as np

_NORMAL = 1.4826  # the median absolute deviation of a normal law, times this, is its standard deviation
_BLOCK = 1 << 20  # numbers at a time: models are long, and float64 takes twice their room
_FEW = 3  # values: below that there is no telling who is odd


def limits(known: np.ndarray, reach: float) -> tuple[float, float]:
    """Between which values a report is believed, given those of everybody; infinite where too few are known.

    >>> limits(np.array([1.0, 2.0, 3.0, 4.0, 1e30]), reach=1)[1]
    4.4826
    """
    values = known[np.isfinite(known)]
    if len(values) < _FEW:
        return -np.inf, np.inf
    middle = float(np.median(values))
    away = np.abs(values - middle)
    spread = _NORMAL * float(np.median(away))
    if spread == 0 and away.any():
        # More than half are equal: the scale is that of the others, where liars are the fewer part of them.
        spread = _NORMAL * float(np.median(away[away > 0]))
    return middle - reach * spread, middle + reach * spread


def clipped(values: np.ndarray, known: np.ndarray, reach: float) -> np.ndarray:
    """Values within the limits that `known` sets; silence, NaN, stays silence."""
    low, high = limits(known, reach)
    return np.asarray(np.clip(values, low, high))


def lengths(rows: np.ndarray) -> np.ndarray:
    """The length of each row, also where squares would leave the range of numbers."""
    out = np.empty(len(rows))
    step = max(1, _BLOCK // max(rows.shape[1], 1))
    for at in range(0, len(rows), step):
        wide = np.asarray(rows[at : at + step], np.float64)
        largest = np.abs(wide).max(axis=1, initial=0.0)
        scale = np.where(largest > 0, largest, 1.0)
        out[at : at + step] = scale * np.sqrt(np.square(wide / scale[:, None]).sum(axis=1))
    return out


def shortened(rows: np.ndarray, known: np.ndarray, reach: float) -> np.ndarray:
    """Rows in their own directions, none longer than the limit that the lengths in `known` set."""
    high = limits(known, reach)[1]
    own = lengths(rows)
    if not (own > high).any():
        return rows
    factor = np.ones(len(rows))
    np.divide(high, own, out=factor, where=own > high)
    return np.asarray(rows * factor[:, None])
