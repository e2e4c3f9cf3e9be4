"""Robust features: an outlier keeps its direction but cannot stand so far out that it is a cluster of its own."""

from __future__ import annotations

import numpy as np

from callup.guard.scaling import limits


def tamed(features: np.ndarray, reach: float) -> np.ndarray:
    """Features within `reach` robust deviations of the rest; fingerprints of bits stay bits.

    Where most rows hold zeros and ones alone, whoever sends other numbers is read as the nearest bits, and a row that
    differs from the majority's bits in more places than is usual takes over some of theirs.
    """
    if not features.size:
        return features
    bits = ((features == 0) | (features == 1)).all(axis=1)
    if 2 * bits.sum() > len(features):
        return _tamed_bits((features > 0.5).astype(np.float64), reach)
    columns = [limits(column, reach) for column in features.T]
    low, high = (np.array(side) for side in zip(*columns, strict=True))
    return np.asarray(np.clip(features, low, high))


def _tamed_bits(bits: np.ndarray, reach: float) -> np.ndarray:
    share = bits.mean(axis=0)
    majority = (share > 0.5).astype(np.float64)
    odd = bits != majority
    most = int(np.floor(limits(odd.sum(axis=1).astype(np.float64), reach)[1])) if len(bits) > 2 else bits.shape[1]
    # The bits on which the others agree most are given up first.
    surest = np.argsort(-np.abs(share - 0.5), kind="stable")
    for row in np.flatnonzero(odd.sum(axis=1) > most):
        places = surest[odd[row, surest]]
        give_up = places[: len(places) - max(most, 0)]
        bits[row, give_up] = majority[give_up]
    return bits
