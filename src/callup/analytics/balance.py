"""Fed-CBS in theory: the exact law of its cohorts, what its theorem says of it, and how many clients are enough.

Zhang et al., ICML 2023. Laws map each cohort, a set of rows of the counts, to its chance; they look at every cohort
and are meant for small federations.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from itertools import combinations

import numpy as np

from callup.analytics.qcid import qcid, qcid_each
from callup.core.errors import InputError, UsageError
from callup.core.types import check_k

Law = dict[frozenset[int], float]

_MOST_COHORTS = 100_000


def drawn_law(counts: np.ndarray, m: int, scale: float = 1.0, offset: float = 0.0, floor: float = 1e-20) -> Law:
    """The cohorts of m clients as Fed-CBS draws them, one after the other, before any exploration (round 1).

    Section 3.3: the j-th client is drawn in proportion to QCID^-(scale j + offset) of the set it would make.
    """
    table = _table(counts, m)
    law: Law = {frozenset(): 1.0}
    for j in range(1, m + 1):
        after: defaultdict[frozenset[int], float] = defaultdict(float)
        for group, chance in law.items():
            rest = [row for row in range(len(table)) if row not in group]
            left = qcid_each(table[list(group)].sum(axis=0) + table[rest])
            shares = _shares(-(scale * j + offset) * np.log(np.maximum(left, floor)))
            for row, share in zip(rest, shares.tolist(), strict=True):
                after[group | {row}] += chance * share
        law = dict(after)
    return law


def claimed_law(counts: np.ndarray, m: int, beta: float, floor: float = 1e-20) -> Law:
    """The cohorts in proportion to QCID^-beta, as the paper takes them to be drawn; beta=0 is random selection.

    The draws come close to it but leave out the sums they divide by, which differ from path to path.
    """
    table = _table(counts, m)
    cohorts = [frozenset(group) for group in combinations(range(len(table)), m)]
    imbalance = qcid_each(np.array([table[list(group)].sum(axis=0) for group in cohorts]))
    shares = _shares(-beta * np.log(np.maximum(imbalance, floor)))
    return dict(zip(cohorts, shares.tolist(), strict=True))


def mean_qcid(counts: np.ndarray, law: Law) -> float:
    """The expected imbalance of a cohort.

    Theorem 3.3: under `claimed_law` it falls as beta grows. Under `drawn_law` it usually does, but not always: in the
    paper's own Figure 3 random selection has a lower mean than Fed-CBS.
    """
    table = np.asarray(counts, np.float64)
    return float(sum(chance * qcid(table[sorted(group)]) for group, chance in law.items()))


def greedy(counts: np.ndarray, m: int) -> list[int]:
    """The rows of m clients, each time the one that leaves the least imbalance; of equals, the first."""
    table = _table(counts, m)
    chosen: list[int] = []
    for _ in range(m):
        rest = [row for row in range(len(table)) if row not in chosen]
        chosen.append(rest[int(qcid_each(table[chosen].sum(axis=0) + table[rest]).argmin())])
    return chosen


def least_qcid_missing(classes: int, missing: int = 1) -> float:
    """The least QCID of any data that lacks so many of B classes: equal shares of the others, z / (B (B - z)).

    Appendix D.3 says "larger than 1/B^2" for one; this is the sharp value, 1 / (B (B - 1)).
    """
    if not 0 <= missing < classes:
        raise UsageError(f"from 0 to {classes - 1} of {classes} classes can be missing, got {missing}")
    return missing / (classes * (classes - missing))


def enough_clients(mean: Callable[[int], float], classes: int, most: int) -> int | None:
    """The least number of clients that Appendix D.3 calls enough, up to `most`; None if none of them is.

    At least as many as classes, and a mean QCID, which `mean` gives for each number, below 1/B^2.
    """
    return next((m for m in range(classes, most + 1) if mean(m) < 1 / classes**2), None)


def expected_missing(class_clients: np.ndarray, available: int) -> float:
    """How many classes nobody holds among so many clients, drawn uniformly from clients of one class each.

    `class_clients[b]` is how many clients hold class b.
    """
    holders = [int(n) for n in class_clients]
    everyone = sum(holders)
    if not 0 <= available <= everyone:
        raise InputError(f"cannot draw {available} of {everyone} clients")
    return sum(math.comb(everyone - n, available) / math.comb(everyone, available) for n in holders)


def least_mean_qcid(class_clients: np.ndarray, available: int) -> float:
    """What no method can go below on average when it chooses as many clients as there are classes, B.

    For clients of one class each and of equal size. With z classes missing the B chosen clients make counts c_b with
    sum (c_b - 1) = 0; the missing give z ones to sum (c_b - 1)^2, the others at least z more: QCID >= 2z / B^2.
    """
    return 2 / len(class_clients) ** 2 * expected_missing(class_clients, available)


def _table(counts: np.ndarray, m: int) -> np.ndarray:
    table = np.asarray(counts, np.float64)
    if table.ndim != 2 or not table.any(axis=1).all():
        raise InputError("every client needs a row of class counts with at least one sample")
    if check_k(m, "m") > len(table):
        raise UsageError(f"cannot choose {m} of {len(table)} clients")
    if math.comb(len(table), m) > _MOST_COHORTS:
        raise UsageError(f"{len(table)} clients form more than {_MOST_COHORTS:,} cohorts of {m}; use fewer")
    return table


def _shares(log_weights: np.ndarray) -> np.ndarray:
    weights = np.exp(log_weights - log_weights.max())
    return np.asarray(weights / weights.sum())
