"""Class ratios: how a client's labels are spread, as its model's gradients tell it, and how near a pool is to balance.

Yang, Wang, Zhu, Wang, Qian, Federated Learning with Class Imbalance Reduction, EUSIPCO 2021 (Fed-cucb).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from callup.core.errors import InputError

Form = Literal["inverse", "exp"]
TINY = 1e-15
"""Added to every share, so that a missing class has a finite logarithm."""
_LEAST_ENTROPY = 0.5  # two classes have ln 2 and more have more: only a single class, which has 0, lies below


def class_ratios(gradients: np.ndarray, form: Form = "inverse", beta: float = 1.0) -> np.ndarray:
    """Estimated label shares R from mean squared gradients G on each class of held-out data, (n, B) -> (n, B).

    A model is pulled little by classes it was trained on and much by those it never saw:

        inverse:  R_b ~ min G / G_b
        exp:      R_b ~ exp(beta min G / G_b)

    >>> class_ratios(np.array([[1.0, 4.0, 2.0, 4.0]]))
    array([[0.5  , 0.125, 0.25 , 0.125]])
    """
    squares = np.asarray(gradients, np.float64)
    if squares.ndim != 2 or squares.shape[1] == 0:
        raise InputError(f"class gradients must have shape (clients, classes), got {squares.shape}")
    least = squares.min(axis=1, keepdims=True)
    # The least one has ratio 1 even where it is zero.
    ratio = np.divide(least, squares, out=np.ones_like(squares), where=squares > least)
    weights = ratio if form == "inverse" else np.exp(beta * (ratio - 1))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def cross_entropy(masses: np.ndarray) -> np.ndarray:
    """CE(U, R) = -(1/B) sum_b ln(R_b + 1e-15) of masses by class, (..., B) -> (...): ln B when balanced, else more."""
    table = np.asarray(masses, np.float64)
    totals = table.sum(axis=-1, keepdims=True)
    shares = table / np.where(totals > 0, totals, 1.0)
    return np.asarray(-np.log(shares + TINY).mean(axis=-1))


def balance_reward(masses: np.ndarray) -> np.ndarray:
    """r = 1 / CE(U, R): the more balanced, the higher."""
    return np.asarray(1 / np.maximum(cross_entropy(masses), _LEAST_ENTROPY))


@dataclass(frozen=True)
class Comparison:
    """Estimated label shares against the truth, one entry for each client."""

    distance: np.ndarray
    """Half the summed difference of shares: 0 is exact, 1 is disjoint."""
    blind: np.ndarray
    """The same distance for somebody who says that all classes are equally frequent."""
    correlation: np.ndarray
    """Pearson's, over the classes; NaN where estimate or truth is flat."""
    main_class: np.ndarray
    """Whether the class with the largest estimate is the one with the most samples."""


def compared(estimates: np.ndarray, counts: np.ndarray) -> Comparison:
    """How well estimates (n, B) match true samples by class (n, B); every client needs a sample."""
    estimates, counts = np.asarray(estimates, np.float64), np.asarray(counts, np.float64)
    if estimates.shape != counts.shape or estimates.ndim != 2 or (counts.sum(axis=1) == 0).any():
        raise InputError(f"estimates {estimates.shape} need true class counts of the same shape, and no client empty")
    truth = counts / counts.sum(axis=1, keepdims=True)
    a, b = (part - part.mean(axis=1, keepdims=True) for part in (estimates, truth))
    with np.errstate(invalid="ignore"):
        correlation = (a * b).sum(axis=1) / np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    return Comparison(
        distance=np.abs(estimates - truth).sum(axis=1) / 2,
        blind=np.abs(1 / truth.shape[1] - truth).sum(axis=1) / 2,
        correlation=correlation,
        main_class=estimates.argmax(axis=1) == truth.argmax(axis=1),
    )
