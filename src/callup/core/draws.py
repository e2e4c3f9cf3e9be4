"""Ordering and weighted draws that give the same cohort on every machine.

Scores are float64 and rounded before they are ordered; ties are broken by random numbers, never by position.
"""

from __future__ import annotations

import math

import numpy as np

from callup.core.errors import ContractError
from callup.core.randomness import client_uniforms, next_key

_BITS = 36  # of the 53 in a float64: room for the last bits in which BLAS kernels and CPUs differ
_REACH = 41.0  # a Gumbel key made of 52 bits lies between -3.7 and 36.8
_MANY, _RANK_BITS = 1 << 16, 22
_RUN = 256
_FEW = 256  # clients: looking for those without a chance costs more than to draw for them
_NO_TIE = np.zeros(1)


def quantised(scores: np.ndarray | float) -> np.ndarray:
    """Scores rounded to 36 significant bits."""
    mantissa, exponent = np.frexp(np.asarray(scores, np.float64))
    with np.errstate(over="ignore"):  # the very largest floats round up to inf and stay the largest
        return np.asarray(np.ldexp(np.round(np.ldexp(mantissa, _BITS)), exponent - _BITS))


def top(ids: np.ndarray, scores: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """The k ids of the highest scores, best first, ties in random order."""
    rows, keys, tie = _leaders(ids, scores, k, rng)
    return np.asarray(ids[rows if len(rows) == 1 else rows[_order(keys, tie)[:k]]])


def among_top(ids: np.ndarray, scores: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """A mask: who is among the k that `top` names. For many, where putting them in order is most of the work."""
    rows, keys, tie = _leaders(ids, scores, k, rng)
    chosen = np.zeros(len(ids), bool)
    chosen[rows if len(rows) <= k else rows[_order(keys, tie)[:k]]] = True
    return chosen


def weighted(ids: np.ndarray, log_weights: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """k distinct ids drawn one after the other in proportion to exp(log_weights), in the order drawn.

    Gumbel keys in log space, the same law as sequential draws with renormalisation. Clients of weight zero come
    only after all others, in uniform order, so that k clients are named whenever k exist.
    """
    weights = np.asarray(log_weights, np.float64)
    border = _kth_highest(weights, k) if 0 < k < len(ids) and len(ids) > _FEW else -np.inf
    if np.isfinite(border):
        # Whoever lies further below the k-th weight than luck can carry has no chance; a NaN stays, to be refused.
        ids, weights = _narrowed(~(weights < border - _REACH - _slack(border)), ids, weights)
    luck = client_uniforms(rng, ids)
    if np.isfinite(border) and 64 * k < len(ids):
        ids, weights, luck = _narrowed(luck >= _least_luck(weights, luck, k), ids, weights, luck)
    # -inf is a weight of zero: top() puts those last and orders them at random.
    return top(ids, weights + _gumbel(luck), k, rng)


def uniform(ids: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """k distinct ids, each set and each order equally likely."""
    return top(ids, client_uniforms(rng, ids), k, rng)


def one_of_each(ids: np.ndarray, group: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A row of each group that has any, every member equally likely, in the order of groups; groups count from 0."""
    luck = client_uniforms(rng, ids)
    least = np.full(int(group.max(initial=-1)) + 1, np.inf)
    np.minimum.at(least, group, luck)
    rows = np.flatnonzero(luck == least[group])
    _, first = np.unique(group[rows], return_index=True)
    return np.asarray(rows[first])


def _leaders(
    ids: np.ndarray, scores: np.ndarray, k: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of the k highest rounded scores, in no order, with these scores and the numbers that break ties.

    More than k only where two of those numbers are equal. Rounding keeps the order, so whoever is clearly below the
    k-th score need not be rounded, and numbers to break ties are drawn for those alone who may need them.
    """
    exact = np.asarray(scores, np.float64)
    if np.isnan(exact).any():
        # NaN has no place in an order: where it lands depends on k and on the sorting routine.
        raise ContractError(f"the score of client {ids[np.isnan(exact)][0]} is not a number; use -inf for 'last'")
    if 0 < k < len(ids):
        border = _kth_highest(exact, k)
        rows = np.flatnonzero(exact >= border - _slack(border))
    else:
        rows = np.arange(len(ids) if k else 0)
    if len(rows) == 1:  # most draws of one
        next_key(rng)
        return rows, exact[rows], _NO_TIE
    keys, tie = quantised(exact[rows]), client_uniforms(rng, ids[rows])
    if k < len(rows):
        last = _kth_highest(keys, k)
        above, level = keys > last, keys == last
        places = k - int(above.sum())
        luck = np.partition(tie[level], places - 1)[places - 1]
        stay = above | (level & (tie <= luck))
        rows, keys, tie = rows[stay], keys[stay], tie[stay]
    return rows, keys, tie


def _kth_highest(values: np.ndarray, k: int) -> float:
    """The k-th highest of at least k values, in one look at most of them where k is small; NaN counts as highest."""
    runs = len(values) // _RUN
    if 2 * k < runs:
        # k runs reach this high, so the k-th highest value does.
        peaks = values[: runs * _RUN].reshape(runs, _RUN).max(axis=1)
        values = values[~(values < np.partition(peaks, runs - k)[runs - k])]
    return float(np.partition(values, len(values) - k)[len(values) - k])


def _gumbel(uniforms: np.ndarray) -> np.ndarray:
    return np.asarray(-np.log(-np.log(uniforms)))


def _narrowed(mask: np.ndarray, *columns: np.ndarray) -> tuple[np.ndarray, ...]:
    """The columns where the mask is true, or all of them when that is hardly more."""
    rows = np.flatnonzero(mask)
    return tuple(column[rows] for column in columns) if 2 * len(rows) < len(mask) else columns


def _least_luck(weights: np.ndarray, luck: np.ndarray, k: int) -> float:
    """Below this uniform number not even the highest weight makes one of the k highest keys.

    k of the heaviest clients have keys at or above the floor, so the k-th highest key of all lies there too.
    """
    heaviest = float(weights.max())
    if not np.isfinite(heaviest):  # NaN is to be refused, and infinity needs no luck
        return 0.0
    heavy = np.flatnonzero(weights >= _kth_highest(weights, 16 * k))
    floor = _kth_highest(weights[heavy] + _gumbel(luck[heavy]), k)
    short = heaviest - floor + _slack(floor) + _slack(heaviest)
    return math.exp(-math.exp(min(short, 700.0))) - 1e-9


def _slack(border: float) -> float:
    """More than rounding moves a score as large as this one, and another one next to it."""
    return abs(border) * 2.0 ** (2 - _BITS) if np.isfinite(border) else 0.0


def _order(keys: np.ndarray, tie: np.ndarray) -> np.ndarray:
    """Falling keys, rising ties among equals: `np.lexsort` in a quarter of its time where there are many."""
    if not _MANY < len(keys) < 1 << _RANK_BITS:
        return np.lexsort((tie, -keys))
    by_key = np.argsort(-keys)
    falling = keys[by_key]
    rank = np.zeros(len(keys), np.uint64)
    rank[by_key[1:]] = np.cumsum(falling[1:] != falling[:-1])
    # One whole number for both: what is left of the tie's bits nearly always settles it.
    both = (rank << np.uint64(64 - _RANK_BITS)) | (tie * 2.0 ** (64 - _RANK_BITS)).astype(np.uint64)
    order = np.argsort(both)
    settled = (np.diff(both[order]) > 0).all()
    return order if settled else np.lexsort((tie, -keys))
