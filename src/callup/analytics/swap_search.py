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


def best_group(terms: Terms, size: int, luck: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows of a group that no exchange of one member improves; `luck`, from 0 to 1, decides between equals.

    The better of two: one grown by always adding whoever suits best, and one begun at random, which finds what the
    first overlooks and differs from round to round.
    """
    search = _Search(terms, luck)
    groups = [search.improved(start, rng) for start in (search.grown(size), rng.permutation(len(luck))[:size])]
    return min(groups, key=lambda group: round(terms.value(group) / search.grain))


class _Search:
    """Judges all candidates at once; values are whole numbers of grains, so that luck only breaks ties."""

    def __init__(self, terms: Terms, luck: np.ndarray) -> None:
        self.totals = _Totals(terms)
        self.luck = luck
        self.grain = _GRAIN * max(1.0, float(np.abs(terms.costs).max()), float(self.totals.squares.max()))

    def judged(self, others: np.ndarray) -> np.ndarray:
        values = np.round(self.totals.with_each(others) / self.grain) + self.luck / 2
        values[others] = np.inf
        return np.asarray(values)

    def grown(self, size: int) -> np.ndarray:
        group = np.empty(size, np.int64)
        for place in range(size):
            group[place] = self.judged(group[:place]).argmin()
        return group

    def improved(self, group: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        for _ in range(_SWEEPS):
            changed = False
            for place in rng.permutation(len(group)):
                values = self.judged(np.delete(group, place))
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
