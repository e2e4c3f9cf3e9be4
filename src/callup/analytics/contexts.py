"""Contexts: what a bandit sees of each client, made from the features it sent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


def are_bits(features: np.ndarray) -> bool:
    """Whether every entry is 0 or 1, as in a SimHash."""
    return bool(((features == 0) | (features == 1)).all())


def unit_rows(features: np.ndarray, bits: bool) -> np.ndarray:
    """Rows of length 1. Bits become -1 and +1 first, so that a 0 says as much as a 1; a row of zeros stays zero.

    >>> unit_rows(np.array([[1.0, 0.0, 1.0, 1.0]]), bits=True)
    array([[ 0.5, -0.5,  0.5,  0.5]])
    """
    if bits:
        return np.asarray((2.0 * features - 1.0) / np.sqrt(features.shape[1]))
    rows = np.array(features, np.float64)
    # By the largest entry first: squares of enormous or tiny numbers leave the range of float64.
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    np.divide(rows, largest, out=rows, where=largest > 0)
    length = np.sqrt(np.square(rows).sum(axis=1, keepdims=True))
    np.divide(rows, length, out=rows, where=length > 0)
    return np.asarray(rows)


@dataclass(frozen=True)
class UnitRows:
    """The same for a whole federation, made for those rows that are asked for: nothing is kept besides the features."""

    features: np.ndarray
    bits: bool

    @property
    def shape(self) -> tuple[int, ...]:
        return self.features.shape

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, rows: np.ndarray | slice) -> np.ndarray:
        return unit_rows(self.features[rows], self.bits)


def doubled(rows: np.ndarray) -> np.ndarray:
    """[x; x] / sqrt 2, of the same length as x: what lets a network begin with an output of exactly zero."""
    return np.asarray(np.concatenate([rows, rows], axis=1) / np.sqrt(2.0))
