"""The best group of a given size, found by exchanging one member at a time, all candidates judged at once.

For groups whose worth is a squared length of a weighted mean plus a weighted mean of costs, as `Terms` says.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_SWEEPS = 50  # far more than it takes; a bound all the same
_GRAIN = 2.0**-36  # values closer than this are equal: room for the last bits in which processors differ


@dataclass(frozen=True)
class Terms:
    """What each candidate brings: J(S) = |sum a x / A|^2 + sum a c / A + spare / A with A = sum a, all sums over S."""

    vectors: np.ndarray
    """x, one row for each candidate."""
    costs: np.ndarray
    """c."""
    weights: np.ndarray
    """a, above 0."""
    spare: float
    """What a group of little weight costs."""

    def value(self, group: np.ndarray) -> float:
        """J of these rows."""
        weights = self.weights[group]
        total = weights.sum()
        mean = weights @ self.vectors[group] / total
        return float(mean @ mean + (weights @ self.costs[group] + self.spare) / total)


class _Totals:
    """Sums over a group, kept up as members come and go, and J with each candidate added."""

    def __init__(self, terms: Terms) -> None:
        self.weights = terms.weights
        self.vectors = terms.weights[:, None] * terms.vectors
        self.costs = terms.weights * terms.costs
        self.squares = np.einsum("ij,ij->i", self.vectors, self.vectors)
        self.spare = terms.spare

    def with_each(self, others: np.ndarray) -> np.ndarray:
        """J of the others together with each candidate in turn."""
        vector = self.vectors[others].sum(axis=0)
        total = self.weights[others].sum() + self.weights
        length = self.squares + 2 * (self.vectors @ vector) + vector @ vector
        return np.asarray(length / total**2 + (self.costs[others].sum() + self.spare + self.costs) / total)


def best_group(terms: Terms, start: np.ndarray, luck: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows of a group of the size of `start` that no exchange of one member improves; `luck` decides between equals."""
    totals = _Totals(terms)
    group = np.array(start)
    grain = _GRAIN * max(1.0, float(np.abs(terms.costs).max(initial=0.0)), float(totals.squares.max(initial=0.0)))
    for _ in range(_SWEEPS):
        changed = False
        for place in rng.permutation(len(group)):
            others = np.delete(group, place)
            values = np.round(totals.with_each(others) / grain) + luck / 2  # whole numbers, so luck only breaks ties
            values[others] = np.inf
            best = int(values.argmin())
            if values[best] < values[group[place]] - 1:
                group[place], changed = best, True
        if not changed:
            break
    return group


def most_needed_first(terms: Terms, group: np.ndarray) -> np.ndarray:
    """The same rows in order: first the one whose absence would cost most; equals by row."""
    if len(group) < 2:
        return group
    without = np.array([terms.value(np.delete(group, place)) for place in range(len(group))])
    return np.asarray(group[np.lexsort((group, -np.round(without / _GRAIN)))])
