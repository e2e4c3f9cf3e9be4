"""A histogram with noise: what one record changes is hidden, what kind of client it is stays visible.

Two histograms are neighbours when one record is replaced by another, so the size is the same and known. Replacing one
moves one count down and one up: L1 distance 2, and discrete Laplace noise of scale 2/epsilon on each count is
epsilon-DP.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from callup.privacy.extras import library
from callup.privacy.modes import check_epsilon

SENSITIVITY = 2

AddNoise = Callable[[np.ndarray, float], np.ndarray]
"""Whole numbers and a scale -> the same with discrete Laplace noise of this scale."""


def noised(counts: np.ndarray, epsilon: float, add: AddNoise | None = None) -> np.ndarray:
    """Label counts made epsilon-DP, whole, not negative and of the same sum.

    The last three are arithmetic on the noised numbers and the known size: they reveal nothing more.
    """
    return as_counts((add or opendp_laplace)(counts, SENSITIVITY / check_epsilon(epsilon)), int(counts.sum()))


def opendp_laplace(counts: np.ndarray, scale: float) -> np.ndarray:
    """Noise from OpenDP: its own secure randomness, exact sampling, no floating point in between."""
    return np.array(_mechanism(scale)(counts.tolist()), np.int64)


def accounted_epsilon(epsilon: float) -> float:
    """What OpenDP itself says the release costs."""
    return float(_mechanism(SENSITIVITY / check_epsilon(epsilon)).map(SENSITIVITY))


@functools.cache
def _mechanism(scale: float) -> Any:
    dp = library("dp", "opendp.prelude")
    dp.enable_features("contrib")
    rows = dp.vector_domain(dp.atom_domain(T=dp.i64))
    return dp.m.make_laplace(rows, dp.l1_distance(T=dp.i64), scale=scale)


def as_counts(values: np.ndarray, total: int) -> np.ndarray:
    """Noised numbers made counts again: negative ones are 0, the rest is scaled to `total`, remainders decide rounding.

    >>> as_counts(np.array([6, -1, 2]), 4)
    array([3, 0, 1])
    """
    kept = np.maximum(values, 0)
    if not kept.any():
        kept = values - values.min() + 1  # all are negative: only their order is left to go by
    exact = kept * (total / int(kept.sum()))
    whole: np.ndarray = np.floor(exact + 1e-9).astype(np.int64)
    order = np.argsort(whole - exact, kind="stable")
    whole[order[: total - int(whole.sum())]] += 1
    return whole
