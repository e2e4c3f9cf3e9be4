"""NeuralUCB's confidence bonus: large where the network's gradient points where no observation did.

Zhou, Li, Gu, ICML 2020, and Cao et al., NCCB, AAAI 2022, Eq. 13 and 14: sqrt(g^T Z^-1 g / w) with
Z = ridge I + sum of g g^T / w over observations. Eq. 14 prints g^T g, a number, where the outer product is meant.
"""

from __future__ import annotations

import numpy as np

from callup.analytics.reward_net import Factors, RewardNet


def diagonal_added(net: RewardNet, diagonal: np.ndarray, seen: Factors) -> np.ndarray:
    """The diagonal of Z after these observations."""
    squares = [
        (np.square(slope).T @ np.square(received)).ravel()
        for slope, received in zip(seen.slopes, seen.inputs, strict=True)
    ]
    return diagonal + np.concatenate(squares) / net.width


def diagonal_bonus(net: RewardNet, diagonal: np.ndarray, of: Factors) -> np.ndarray:
    """sqrt(g^T Z^-1 g / w) with all of Z but its diagonal left out; O(p) for each row."""
    form = np.zeros(len(of.inputs[0]))
    for slope, received, matrix in zip(of.slopes, of.inputs, net.matrices(1.0 / diagonal), strict=True):
        # The squares of an outer product are the outer product of squares.
        form += (np.square(slope) * (np.square(received) @ matrix.T)).sum(axis=1)
    return np.sqrt(form / net.width)


class DualBonus:
    """The same with all of Z, which is never written out.

    With G the gradients of n observations, one a row: g^T Z^-1 g = (|g|^2 - v^T (ridge w I + G G^T)^-1 v) / ridge,
    where v = G g. n x n numbers instead of p x p.
    """

    def __init__(self, net: RewardNet, ridge: float, seen: Factors) -> None:
        self._net, self._ridge, self._seen = net, ridge, seen
        gram = kernel(seen, seen)
        self._inverse = np.linalg.inv(gram + ridge * net.width * np.eye(len(gram)))

    def __call__(self, of: Factors) -> np.ndarray:
        v = kernel(of, self._seen)
        explained = ((v @ self._inverse) * v).sum(axis=1)
        # Rounding may leave a well-known direction just below zero.
        form = np.maximum(squared_length(of) - explained, 0.0) / self._ridge
        return np.asarray(np.sqrt(form / self._net.width))


def kernel(a: Factors, b: Factors) -> np.ndarray:
    """Inner products of gradients, (rows of a, rows of b); those of outer products are products of inner products."""
    total = np.zeros((len(a.inputs[0]), len(b.inputs[0])))
    for slope_a, input_a, slope_b, input_b in zip(a.slopes, a.inputs, b.slopes, b.inputs, strict=True):
        total += (slope_a @ slope_b.T) * (input_a @ input_b.T)
    return total


def squared_length(of: Factors) -> np.ndarray:
    """|g|^2 of each row."""
    parts = [
        np.square(slope).sum(axis=1) * np.square(received).sum(axis=1)
        for slope, received in zip(of.slopes, of.inputs, strict=True)
    ]
    return np.asarray(np.sum(parts, axis=0))


def packed(of: Factors) -> np.ndarray:
    """Factors as one table, one observation a row, to be kept as state."""
    return np.concatenate([*of.inputs, *of.slopes], axis=1)


def unpacked(net: RewardNet, table: np.ndarray) -> Factors:
    """Factors from their table."""
    widths = [columns for _, columns in net.shapes] + [rows for rows, _ in net.shapes]
    parts = np.split(table, np.cumsum(widths)[:-1], axis=1)
    return Factors(parts[: net.layers], parts[net.layers :])
