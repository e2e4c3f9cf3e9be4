"""Ridge regression one row at a time: the inverse of lambda I + sum of x x^T, kept by Sherman and Morrison."""

from __future__ import annotations

import numpy as np


def first_inverse(size: int, ridge: float) -> np.ndarray:
    """The inverse of ridge I."""
    return np.eye(size) / ridge


def with_row(inverse: np.ndarray, row: np.ndarray) -> np.ndarray:
    """(A + x x^T)^-1 from A^-1 in O(d^2) steps: A^-1 - v v^T / (1 + x^T v) with v = A^-1 x.

    >>> with_row(first_inverse(2, 1.0), np.array([1.0, 0.0]))  # the inverse of diag(2, 1)
    array([[0.5, 0. ],
           [0. , 1. ]])
    """
    v = inverse @ row
    return np.asarray(inverse - np.outer(v, v) / (1.0 + row @ v))


def spread(inverse: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """sqrt(x^T A^-1 x) of each row: how little has been seen in its direction."""
    # Rounding may leave a well-known direction just below zero.
    return np.asarray(np.sqrt(np.maximum(((rows @ inverse) * rows).sum(axis=1), 0.0)))
