"""The best group of a given size and how its members should weigh, found by exchanging one member at a time.

For groups whose worth is a squared length of a weighted mean plus weighted costs, as `Terms` says. With the others
given, the best weight of a newcomer has a closed form: all candidates are judged at once, each with its best weight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_SWEEPS = 50  # far more than it takes; a bound all the same
_LEAST = 0.25  # of an equal share: nobody is called in vain
_GRAIN = 2.0**-36  # values closer than this are equal: room for the last bits in which processors differ


@dataclass(frozen=True)
class Group:
    """Rows of the candidates, with weights that add up to 1."""

    rows: np.ndarray
    weights: np.ndarray

    def without(self, place: int) -> Group:
        """The others; what they weigh among themselves stays as it is."""
        rest = np.delete(self.weights, place)
        return Group(np.delete(self.rows, place), rest / rest.sum() if len(rest) else rest)

    def joined(self, place: int, row: int, weight: float) -> Group:
        return Group(np.insert(self.rows, place, row), np.insert(self.weights * (1 - weight), place, weight))


@dataclass(frozen=True)
class Terms:
    """What each candidate brings: J(S, w) = |sum w x|^2 + sum w c + sum w^2 v + sum f, all sums over S."""

    vectors: np.ndarray
    """x, one row for each candidate."""
    costs: np.ndarray
    """c."""
    spreads: np.ndarray
    """v, above 0: what it costs to lean on one client."""
    fees: np.ndarray
    """f: what it costs to have the client at all, whatever it weighs."""

    def value(self, group: Group) -> float:
        mean = group.weights @ self.vectors[group.rows]
        spread = np.square(group.weights) @ self.spreads[group.rows]
        return float(mean @ mean + group.weights @ self.costs[group.rows] + spread + self.fees[group.rows].sum())


def best_group(terms: Terms, size: int, luck: np.ndarray, rng: np.random.Generator) -> Group:
    """A group that a sweep of exchanges does not improve; `luck`, from 0 to 1, decides between equals.

    The better of two: one grown by always adding whoever suits best, and one begun at random, which finds what the
    first overlooks and differs from round to round.
    """
    search = _Search(terms, luck, size)
    starts = (search.grown(), rng.permutation(len(luck))[:size])
    groups = [search.improved(start, rng) for start in starts]
    return min(groups, key=lambda group: round(terms.value(group) / search.grain))


def settled(terms: Terms, rows: np.ndarray) -> Group:
    """The same members with the weights that suit them best, none below a quarter of an equal share.

    A quadratic programme, solved by keeping those at the bound aside: with the others free, all derivatives are equal.
    """
    x, costs, least = terms.vectors[rows], terms.costs[rows], _LEAST / len(rows)
    bends = x @ x.T + np.diag(terms.spreads[rows])
    free = np.ones(len(rows), bool)
    weights = np.full(len(rows), least)
    for _ in range(2 * len(rows)):
        pull = costs / 2 + bends[:, ~free].sum(axis=1) * least
        solved = np.linalg.solve(bends[np.ix_(free, free)], np.stack([np.ones(free.sum()), pull[free]], axis=1))
        level = (1 - least * (~free).sum() + solved[:, 1].sum()) / solved[:, 0].sum()
        weights[~free], weights[free] = least, level * solved[:, 0] - solved[:, 1]
        low = free & (weights < least)
        if low.any():
            free &= ~low
            continue
        gain = np.where(free, 0.0, level - (bends @ weights + costs / 2))
        if gain.max() <= _GRAIN * max(1.0, abs(level)):
            break
        free[gain.argmax()] = True
    return Group(rows, weights / weights.sum())


class _Search:
    """Judges all candidates at once; values are whole numbers of grains, so that luck only breaks ties."""

    def __init__(self, terms: Terms, luck: np.ndarray, size: int) -> None:
        self.terms, self.luck, self.size = terms, luck, size
        self.least = _LEAST / size
        self.squares = np.einsum("ij,ij->i", terms.vectors, terms.vectors)
        largest = max(np.abs(terms.costs).max(), np.abs(terms.fees).max(), self.squares.max())
        self.grain = _GRAIN * max(1.0, float(largest))

    def weights_and_values(self, others: Group) -> tuple[np.ndarray, np.ndarray]:
        """With each candidate in turn: its best weight t, and J of the others, weighing 1 - t, together with it.

        Without the others' fees, which are the same for every candidate.
        """
        t = self.terms
        if not len(others.rows):
            return np.ones(len(t.costs)), self.squares + t.costs + t.spreads + t.fees
        mean, weights = others.weights @ t.vectors[others.rows], others.weights
        cost, spread = weights @ t.costs[others.rows], np.square(weights) @ t.spreads[others.rows]
        length = mean @ mean
        slope = t.vectors @ mean - length  # of the squared length, halved, as a candidate comes in
        bend = self.squares - 2 * slope - length
        dearer = t.costs - cost
        best = (spread - slope - dearer / 2) / (bend + spread + t.spreads)
        own = np.clip(best, self.least, 1.0)
        values = length + own * (2 * slope + own * bend + dearer) + cost + (1 - own) ** 2 * spread + own**2 * t.spreads
        return own, np.asarray(values + t.fees)

    def judged(self, others: Group) -> tuple[np.ndarray, np.ndarray]:
        weights, values = self.weights_and_values(others)
        values = np.round(values / self.grain) + self.luck / 2
        values[others.rows] = np.inf
        return weights, values

    def grown(self) -> np.ndarray:
        """Rows."""
        group = Group(np.empty(0, np.int64), np.empty(0))
        for place in range(self.size):
            weights, values = self.judged(group)
            best = int(values.argmin())
            group = group.joined(place, best, float(weights[best]))
        return group.rows

    def improved(self, rows: np.ndarray, rng: np.random.Generator) -> Group:
        """After sweeps of exchanges, until one brings nothing.

        A newcomer's weight comes out of the others', which may fall below the least until weights are settled: so an
        exchange that seemed to help may not have.
        """
        group = settled(self.terms, rows)
        for _ in range(_SWEEPS):
            swept = settled(self.terms, self.swept(group, rng.permutation(self.size)).rows)
            if self.terms.value(swept) >= self.terms.value(group) - self.grain:
                break
            group = swept
        return group

    def swept(self, group: Group, places: np.ndarray) -> Group:
        """Each member in turn exchanged for whoever suits best."""
        for place in places:
            row, others = int(group.rows[place]), group.without(place)
            weights, values = self.judged(others)
            best = int(values.argmin())
            if values[best] < values[row] - 1:
                row = best
            group = others.joined(place, row, float(weights[row]))
        return group


def most_needed_first(terms: Terms, group: Group) -> Group:
    """The same group in order: first the one whose absence would cost most; equals by row."""
    if len(group.rows) < 2:
        return group
    without = np.array([terms.value(group.without(place)) for place in range(len(group.rows))])
    order = np.lexsort((group.rows, -np.round(without / _GRAIN)))
    return Group(group.rows[order], group.weights[order])
