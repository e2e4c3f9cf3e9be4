"""Shapley values: what each player adds, averaged over every order in which they could have joined.

Positive is helpful, always. The values add up to v(everyone) - v(nobody); the two estimates come within the
differences they were told to neglect.
"""

from __future__ import annotations

import math

import numpy as np

from callup.analytics.game import Game
from callup.core.errors import UsageError
from callup.core.types import check_k

EXACT_LIMIT = 16
"""Players up to which every group is looked at; 16 of them form 65,536 groups."""
_LEAST_ORDERS, _RECENT, _SETTLED = 30, 10, 0.05
_SMALL, _USUAL_ORDERS, _FREE_ORDERS = 8, 200, 4000


def exact(game: Game) -> np.ndarray:
    """phi_k = sum over S without k of |S|! (n-|S|-1)! / n! (v(S + k) - v(S)); 2^n evaluations.

    >>> exact(Game(2, lambda group: 3.0 * (0 in group) + 1.0 * (1 in group)))
    array([3., 1.])
    """
    n = game.players
    if n > EXACT_LIMIT:
        raise UsageError(f"exact Shapley values are made for up to {EXACT_LIMIT} players, got {n}; use tmc or gtg")
    worth = np.array([game(k for k in range(n) if mask >> k & 1) for mask in range(1 << n)])
    masks = np.arange(1 << n)
    weights = np.array([1 / (n * math.comb(n - 1, size)) for size in range(n)])
    sizes = np.array([mask.bit_count() for mask in range(1 << n)])
    values = np.zeros(n)
    for k in range(n):
        without = masks[(masks >> k) & 1 == 0]
        values[k] = (weights[sizes[without]] * (worth[without | 1 << k] - worth[without])).sum()
    return values


def truncated(game: Game, rng: np.random.Generator, orders: int | None = None, epsilon: float = 0.001) -> np.ndarray:
    """Truncated Monte-Carlo: the mean gain along so many random orders, each left off once within epsilon of v(all).

    Unless told otherwise, 4,000 orders for up to 8 players, whose groups are soon all known, and 200 above.
    """
    many = check_k(orders, "orders") if orders is not None else _free_orders(game) or _USUAL_ORDERS
    total = np.zeros(game.players)
    for _ in range(many):
        total += _gains(game, rng.permutation(game.players), epsilon)
    return total / many


def gtg(
    game: Game, rng: np.random.Generator, between: float = 0.001, within: float = 0.001, orders: int | None = None
) -> np.ndarray:
    """GTG-Shapley (Liu et al., TIST 2022): guided orders, left off early, until the means stand still.

    A round that changed v by no more than `between` gives everybody zero. Each player in turn comes first, the rest
    follow at random; an order is left off once within `within` of v(everyone). By the published rule it ends after at
    least max(30, n) orders whose means have settled, or after 0.8 * 2^n of them, and always with a full turn of first
    places. The rule saves evaluations; up to 8 players have so few groups that it stops too soon, while near-ties are
    still out of order, so there 4,000 orders are taken. `orders` asks for at least so many; 0 is the published rule.
    """
    n = game.players
    if n == 0 or abs(game.gain) <= between:
        return np.zeros(n)
    asked = _free_orders(game) if orders is None else orders
    fewest = max(_LEAST_ORDERS, n, asked)
    most = max(asked, min(2**n, max(fewest, 4 * 2**n // 5)))
    gains: list[np.ndarray] = []
    while len(gains) < most and not (len(gains) >= fewest and settled(np.array(gains))):
        for first in range(n):
            rest = rng.permutation([k for k in range(n) if k != first])
            gains.append(_gains(game, np.array([first, *rest], np.intp), within))
    return np.asarray(np.mean(gains, axis=0))


def settled(gains: np.ndarray) -> bool:
    """Whether the last ten running means of the orders' gains, (orders, players), lie within 5 % of the last one.

    The difference of two means is relative, player by player, and averaged over the players.
    """
    means = np.cumsum(gains, axis=0) / np.arange(1, len(gains) + 1)[:, None]
    apart = np.abs(means[-_RECENT:] - means[-1]) / (np.abs(means[-1]) + 1e-12)
    return bool(apart.mean(axis=1).max() < _SETTLED)


def unshared(game: Game, values: np.ndarray) -> float:
    """What the values leave over of v(everyone) - v(nobody): zero, but for rounding, when they are efficient."""
    return game.gain - float(np.sum(values))


def relative(values: np.ndarray) -> np.ndarray:
    """Values scaled within their round from 0 for the least to 1 for the greatest; one half when all are equal.

    >>> relative(np.array([-2.0, 0.0, 6.0]))
    array([0.  , 0.25, 1.  ])
    """
    values = np.asarray(values, np.float64)
    span = float(np.ptp(values)) if len(values) else 0.0
    return (values - values.min()) / span if span > 0 else np.full(len(values), 0.5)


def _free_orders(game: Game) -> int:
    """How many orders cost next to nothing, because the game remembers each of its few groups."""
    return _FREE_ORDERS if game.players <= _SMALL else 0


def _gains(game: Game, order: np.ndarray, epsilon: float) -> np.ndarray:
    """What each player adds when they join in this order; nothing once the rest would add less than epsilon."""
    gains = np.zeros(game.players)
    whole, before = game(range(game.players)), game(())
    joined: frozenset[int] = frozenset()
    for player in order.tolist():
        if abs(whole - before) < epsilon:
            break
        joined |= {player}
        after = game(joined)
        gains[player] = after - before
        before = after
    return gains
