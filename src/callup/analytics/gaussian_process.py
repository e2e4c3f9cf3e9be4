"""A Gaussian process over clients: whose losses move together, learned from how they moved.

Tang et al., FedCor, CVPR 2022. Every client has a place x in a space of few dimensions, and the covariance of two is
the inner product of their places: Sigma = X X^T. With few dimensions nothing of size N x N is ever written out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from callup.analytics.ridge import first_inverse, with_row
from callup.core.draws import quantised

_FAST, _SLOW, _TINY = 0.9, 0.999, 1e-8  # of Adam: Kingma and Ba, ICLR 2015


class Group(NamedTuple):
    """Records heard from the same clients: their rows, one column of values a record, and what each record counts."""

    rows: np.ndarray
    values: np.ndarray
    weights: np.ndarray


def groups(records: np.ndarray, weights: np.ndarray) -> list[Group]:
    """Records, one a column, NaN where a client was not heard, gathered by who was heard."""
    heard = ~np.isnan(records)
    patterns, which = np.unique(heard, axis=1, return_inverse=True)
    found = []
    for place in range(patterns.shape[1]):
        rows, columns = np.flatnonzero(patterns[:, place]), np.flatnonzero(which.ravel() == place)
        if len(rows):
            found.append(Group(rows, records[np.ix_(rows, columns)], weights[columns]))
    return found


def log_likelihood(places: np.ndarray, found: list[Group], noise: float) -> float:
    """Of the records under N(0, X X^T + noise^2 I), each times its weight, but for a constant."""
    total = 0.0
    for rows, values, weights in found:
        x = places[rows]
        inner = noise**2 * np.eye(x.shape[1]) + x.T @ x
        form = (values * _solved(x, inner, values, noise)).sum(axis=0) @ weights
        # |X X^T + s^2 I| = |s^2 I + X^T X| s^(2 (n - d))
        determinant = np.linalg.slogdet(inner)[1] + 2 * (len(rows) - x.shape[1]) * np.log(noise)
        total -= 0.5 * (form + weights.sum() * determinant)
    return float(total)


def slope(places: np.ndarray, found: list[Group], noise: float) -> np.ndarray:
    """The gradient of the log-likelihood in the places: sum of w (a a^T - S^-1) X with a = S^-1 y."""
    out = np.zeros_like(places)
    for rows, values, weights in found:
        x = places[rows]
        inner = noise**2 * np.eye(x.shape[1]) + x.T @ x
        a = _solved(x, inner, values, noise)
        # S^-1 X = X (s^2 I + X^T X)^-1
        out[rows] += (a * weights) @ (a.T @ x) - weights.sum() * np.linalg.solve(inner, x.T).T
    return out


def fitted(places: np.ndarray, found: list[Group], noise: float, steps: int, rate: float) -> np.ndarray:
    """Places after so many steps of Adam uphill."""
    x, first, second = places.copy(), np.zeros_like(places), np.zeros_like(places)
    for step in range(1, steps + 1):
        uphill = slope(x, found, noise)
        first = _FAST * first + (1 - _FAST) * uphill
        second = _SLOW * second + (1 - _SLOW) * np.square(uphill)
        x += rate * (first / (1 - _FAST**step)) / (np.sqrt(second / (1 - _SLOW**step)) + _TINY)
    return x


def most_telling(
    places: np.ndarray, share: np.ndarray, candidates: np.ndarray, discount: np.ndarray, noise: float, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """The candidates picked one after the other, as places in `candidates`, and the score each was picked for.

    Each pick has the highest discount_k (sum_i p_i Sigma_ik) sqrt(Sigma_kk) / (Sigma_kk + noise^2); then Sigma becomes
    the covariance given that client. Ties fall on the earlier: shuffle first.
    """
    x, toward = places[candidates], places.T @ share
    # Sigma given those picked is X C X^T, with C = (I + sum of x x^T / noise^2)^-1.
    given = first_inverse(places.shape[1], 1.0)
    left = np.ones(len(candidates), bool)
    picked, scores = [], []
    for _ in range(min(count, len(candidates))):
        moved = x @ given
        variance = np.maximum((moved * x).sum(axis=1), 0.0)
        score = quantised(discount * (moved @ toward) * np.sqrt(variance) / (variance + noise**2))
        best = int(np.where(left, score, -np.inf).argmax())
        picked.append(best)
        scores.append(float(score[best]))
        left[best] = False
        given = with_row(given, x[best] / noise)
    return np.array(picked, np.intp), np.array(scores)


def _solved(x: np.ndarray, inner: np.ndarray, values: np.ndarray, noise: float) -> np.ndarray:
    """(X X^T + s^2 I)^-1 y = (y - X (s^2 I + X^T X)^-1 X^T y) / s^2, by Woodbury."""
    return np.asarray((values - x @ np.linalg.solve(inner, x.T @ values)) / noise**2)
