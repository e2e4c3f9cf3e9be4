"""Regret: what was lost by choosing as one did and not as somebody who knows everything. For simulations."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from callup.analytics.utility import best_set_utility, set_utility
from callup.core.errors import InputError


def regret(chosen: np.ndarray, best: np.ndarray) -> np.ndarray:
    """Cumulative regret, round by round: the running sum of the best possible value minus the value that was got.

    >>> regret(np.array([1.0, 4.0, 2.0]), np.array([4.0, 4.0, 3.0]))
    array([3., 3., 4.])
    """
    got, possible = np.asarray(chosen, np.float64), np.asarray(best, np.float64)
    if got.ndim != 1 or got.shape != possible.shape:
        raise InputError(f"regret needs two lists with one value for each round, got {got.shape} and {possible.shape}")
    return np.cumsum(possible - got)


def utility_regret(rounds: Iterable[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """NCCB, Cao et al., Eq. 4: cumulative sum over rounds of U(B*) - U(B).

    Each round is the true utilities of all who could be chosen, and a mask of those who were. B* is the best set of
    the same size.
    """
    got, possible = [], []
    for utilities, mask in rounds:
        taken = np.asarray(mask, bool)
        if taken.shape != np.shape(utilities):
            raise InputError(f"{np.shape(utilities)} utilities and a mask of {taken.shape} do not belong together")
        got.append(set_utility(np.asarray(utilities)[taken]))
        possible.append(best_set_utility(utilities, int(taken.sum())))
    return regret(np.array(got), np.array(possible))


def preference(rewards: np.ndarray, skewness: np.ndarray) -> np.ndarray:
    """FedACS, Wang et al., IWQoS 2021, Eq. 3: phi(i*, i) = P(R_i* > R_i) - 1/2 of each client i.

    i* is the client of the lowest skewness, which only a simulation knows. The probability is the share of rows of
    `rewards`, (rounds, clients), in which i* is ahead; equal rewards count as half. Noise may make it negative.
    """
    table, skew = np.asarray(rewards, np.float64), np.asarray(skewness, np.float64)
    if table.ndim != 2 or not len(table) or table.shape[1:] != skew.shape or not len(skew):
        raise InputError(f"rewards {table.shape} need a row for each round and a column for each of {skew.shape}")
    star = table[:, [int(skew.argmin())]]
    return np.asarray(((star > table) + 0.5 * (star == table)).mean(axis=0) - 0.5)


def noiseless_preference(skewness: np.ndarray) -> np.ndarray:
    """The same where the less skewed client always wins (Eq. 2 without noise): 1/2 for all but the least skewed."""
    skew = np.asarray(skewness, np.float64)
    return np.where(skew > skew.min(), 0.5, 0.0)


def dueling_regret(chosen: Iterable[np.ndarray], phi: np.ndarray) -> np.ndarray:
    """FedACS, Eq. 4: cumulative sum over rounds of sum_{i in S} phi(i*, i); `chosen` holds rows of `phi`, by round.

    The least it can be is not zero: k - 1 of k chosen clients are not the best one.
    """
    return np.cumsum([float(np.asarray(phi, np.float64)[rows].sum()) for rows in chosen])
