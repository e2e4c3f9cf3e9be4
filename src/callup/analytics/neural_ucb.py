"""NeuralUCB's confidence bonus: large where the network's gradient points where no observation did.

Zhou, Li, Gu, ICML 2020, and Cao et al., NCCB, Eq. 13 and 14: sqrt(g^T Z^-1 g / w) with
Z = ridge I + sum of g g^T / w over observations. Eq. 14 prints g^T g, a number, where the outer product is meant.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from callup.analytics.reward_net import Factors, RewardNet


@dataclass(frozen=True)
class DiagonalZ:
    """Z without what stands off its diagonal; p numbers, kept as one array."""

    net: RewardNet
    ridge: float

    def empty(self) -> np.ndarray:
        """Z before any observation: ridge I."""
        return np.full(sum(rows * columns for rows, columns in self.net.shapes), self.ridge)

    def added(self, z: np.ndarray, seen: Factors) -> np.ndarray:
        """Z after these observations."""
        grown = z.copy()
        for part, slope, received in zip(self.net.matrices(grown), seen.slopes, seen.inputs, strict=True):
            # The squares of an outer product are the outer product of squares.
            part += np.square(slope).T @ np.square(received) / self.net.width
        return grown

    def bonus(self, z: np.ndarray, of: Factors) -> np.ndarray:
        """sqrt(g^T Z^-1 g / w) of each row; no gradient is written out."""
        form = np.zeros(len(of.inputs[0]))
        for part, slope, received in zip(self.net.matrices(1.0 / z), of.slopes, of.inputs, strict=True):
            form += (np.square(slope) * (np.square(received) @ part.T)).sum(axis=1)
        return np.asarray(np.sqrt(form / self.net.width))


@dataclass(frozen=True)
class FullZ:
    """All of Z, which is never written out: kept are the gradients of the last `most` observations, in factors.

    With G these gradients, one a row, and v = G g: g^T Z^-1 g = (|g|^2 - v^T (ridge w I + G G^T)^-1 v) / ridge.
    n x n numbers instead of p x p.
    """

    net: RewardNet
    ridge: float
    most: int

    def empty(self) -> np.ndarray:
        return np.empty((0, sum(rows + columns for rows, columns in self.net.shapes)))

    def added(self, z: np.ndarray, seen: Factors) -> np.ndarray:
        return np.concatenate([z, np.concatenate([*seen.inputs, *seen.slopes], axis=1)])[-self.most :]

    def bonus(self, z: np.ndarray, of: Factors) -> np.ndarray:
        seen = self._factors(z)
        v = inner_products(seen, of)
        inner = inner_products(seen, seen) + self.ridge * self.net.width * np.eye(len(z))
        explained = (v * np.linalg.solve(inner, v)).sum(axis=0)
        # Rounding may leave a well-known direction just below zero.
        form = np.maximum(squared_lengths(of) - explained, 0.0) / self.ridge
        return np.asarray(np.sqrt(form / self.net.width))

    def _factors(self, z: np.ndarray) -> Factors:
        widths = [columns for _, columns in self.net.shapes] + [rows for rows, _ in self.net.shapes]
        parts = np.split(z, np.cumsum(widths)[:-1], axis=1)
        return Factors(parts[: self.net.layers], parts[self.net.layers :])


def inner_products(a: Factors, b: Factors) -> np.ndarray:
    """Of gradients, (rows of a, rows of b): that of two outer products is the product of two inner products."""
    total = np.zeros((len(a.inputs[0]), len(b.inputs[0])))
    for slope_a, input_a, slope_b, input_b in zip(a.slopes, a.inputs, b.slopes, b.inputs, strict=True):
        total += (slope_a @ slope_b.T) * (input_a @ input_b.T)
    return total


def squared_lengths(of: Factors) -> np.ndarray:
    """|g|^2 of each row."""
    parts = [np.square(s).sum(axis=1) * np.square(r).sum(axis=1) for s, r in zip(of.slopes, of.inputs, strict=True)]
    return np.asarray(np.sum(parts, axis=0))
