"""Shapley values: three players by hand, the axioms, and when the two estimates stop looking."""

from itertools import permutations

import numpy as np
import pytest

from callup.analytics import shapley
from callup.analytics.game import Game
from callup.core.errors import InputError, UsageError
from callup.core.randomness import stream

WORTH = {"": 0, "0": 80, "1": 56, "2": 70, "01": 80, "02": 85, "12": 72, "012": 90}


def named(group):
    return "".join(map(str, sorted(group)))


def three(base=0.0):
    return Game(3, lambda group: base + WORTH[named(group)])


def random_game(seed, n):
    values = stream(seed, "worth").normal(size=1 << n)
    return Game(n, lambda group: float(values[sum(1 << k for k in group)]))


def over_all_orders(game):
    """The definition as it is said: the mean gain over every order of joining."""
    gains = np.zeros(game.players)
    orders = list(permutations(range(game.players)))
    for order in orders:
        for place, player in enumerate(order):
            gains[player] += game(order[: place + 1]) - game(order[:place])
    return gains / len(orders)


@pytest.mark.parametrize("base", [0.0, -2.5])
def test_three_players_by_hand(base):
    # Gains of players 0, 1, 2 in each order of joining; what nobody is worth drops out.
    #   012: 80  0 10      021: 80  5  5      102: 24 56 10
    #   120: 18 56 16      201: 15  5 70      210: 18  2 70
    game = three(base)
    values = shapley.exact(game)
    np.testing.assert_allclose(values, [235 / 6, 124 / 6, 181 / 6], rtol=1e-12)
    assert shapley.unshared(game, values) == pytest.approx(0, abs=1e-12)
    assert game.gain == 90
    assert game.evaluations == 8


@pytest.mark.parametrize("seed", range(4))
def test_exact_is_the_mean_over_every_order(seed):
    game = random_game(seed, 5)
    values = shapley.exact(game)
    np.testing.assert_allclose(values, over_all_orders(game), atol=1e-12)
    assert abs(shapley.unshared(game, values)) < 1e-12
    assert game.evaluations == 32


def test_players_who_add_the_same_get_the_same_and_a_null_player_gets_nothing():
    # Players 0 and 3 enter only by their number, player 1 not at all.
    other = random_game(7, 5)
    game = Game(4, lambda group: 3.0 * len(group & {0, 3}) ** 2 + other(group & {2}) * (1 + len(group & {0, 3})))
    values = shapley.exact(game)
    assert values[0] == pytest.approx(values[3], abs=1e-12)
    assert values[1] == pytest.approx(0, abs=1e-12)
    assert abs(values[0] - values[2]) > 0.1


def test_the_value_of_a_sum_of_games_is_the_sum_of_values():
    one, two = random_game(1, 4), random_game(2, 4)
    both = shapley.exact(Game(4, lambda group: one(group) + 2 * two(group)))
    np.testing.assert_allclose(both, shapley.exact(one) + 2 * shapley.exact(two), atol=1e-12)


def test_one_player_and_nobody():
    alone = Game(1, lambda group: -0.5 + len(group))
    for values in (shapley.exact(alone), shapley.truncated(alone, stream(0, "s")), shapley.gtg(alone, stream(0, "s"))):
        assert values == pytest.approx([1.0])
    empty = Game(0, lambda group: 3.0)
    for values in (shapley.exact(empty), shapley.truncated(empty, stream(0, "s")), shapley.gtg(empty, stream(0, "s"))):
        assert values.shape == (0,)


def test_each_group_is_asked_once():
    asked = []
    game = Game(3, lambda group: asked.append(named(group)) or float(WORTH[named(group)]))
    shapley.exact(game)
    shapley.truncated(game, stream(0, "s"))
    assert sorted(asked) == sorted(WORTH)


def test_what_is_neglected_is_not_asked():
    # One player is as good as all: each order ends after its first player, and no pair is ever looked at.
    asked = set()
    game = Game(4, lambda group: float(asked.add(len(group)) or bool(group)))
    values = shapley.truncated(game, stream(0, "s"), orders=2000, epsilon=0.001)
    assert asked == {0, 1, 4}
    # Each player comes first in a quarter of the orders: 4.9 standard errors, once in 1e6 for each of four.
    np.testing.assert_allclose(values, 0.25, atol=4.9 * np.sqrt(0.25 * 0.75 / 2000))
    assert shapley.unshared(game, values) == pytest.approx(0, abs=1e-12)


class Counting:
    """A generator that counts the orders asked of it."""

    def __init__(self, seed):
        self.orders, self._rng = 0, stream(seed, "orders")

    def permutation(self, x):
        self.orders += 1
        return self._rng.permutation(x)


def test_gtg_gives_nothing_for_a_round_that_changed_nothing():
    game = Game(4, lambda group: 5.0 * (len(group) == 2) + 0.001 * (len(group) == 4))
    rng = Counting(0)
    assert shapley.gtg(game, rng, between=0.001).tolist() == [0, 0, 0, 0]
    assert (game.evaluations, rng.orders) == (2, 0)
    assert shapley.gtg(game, rng, between=0.0009).any()


def test_gtg_leads_with_each_player_in_turn():
    # Worth only to whoever comes first: a full turn gives everybody exactly the same, whatever the random rest.
    game = Game(7, lambda group: float(bool(group)))
    np.testing.assert_allclose(shapley.gtg(game, stream(3, "s")), 1 / 7, rtol=1e-12)


def test_gtg_stops_when_the_means_stand_still():
    # Every order gives the same gains, so the means never move: at least 30 orders, in turns of 8, are 32.
    rng = Counting(0)
    values = shapley.gtg(Game(8, lambda group: float(sum(group))), rng, orders=0)
    np.testing.assert_allclose(values, np.arange(8), atol=1e-12)
    assert rng.orders == 32


def orders_of(estimate, players, **options):
    rng = Counting(0)
    estimate(Game(players, lambda group: float(sum(group))), rng, **options)
    return rng.orders


def test_few_players_get_many_orders_unless_told_otherwise():
    # Turns of 8 make 4,000 exactly; nine players keep the published rule: at least 30, in turns of 9, are 36.
    assert (orders_of(shapley.gtg, 8), orders_of(shapley.gtg, 9)) == (4000, 36)
    assert orders_of(shapley.gtg, 9, orders=100) == 108
    assert (orders_of(shapley.truncated, 8), orders_of(shapley.truncated, 9)) == (4000, 200)
    assert orders_of(shapley.truncated, 8, orders=50) == 50


def test_gtg_stops_at_its_cap():
    # Noise never settles to 5 %. Six players: 0.8 * 2^6 = 51 orders, in turns of 6, are 54.
    noise = random_game(5, 6)
    rng = Counting(0)
    shapley.gtg(noise, rng, orders=0)
    assert abs(noise.gain) > 0.001
    assert rng.orders == 54
    # Two players: never more than 2^2.
    two = Counting(0)
    shapley.gtg(Game(2, lambda group: {"": 0, "0": 1, "1": -1, "01": 0.1}[named(group)]), two, orders=0)
    assert two.orders == 4


def test_settled_by_hand():
    steady = np.ones((12, 2))
    assert shapley.settled(steady)
    # One order of 12 gives player 0 nothing. The last mean is 11/12; the ten before it, from 3 orders on, are
    # 1 where the zero is still to come: apart by 1/11 for one player of two, 1/22 = 4.5 % on average.
    last = steady.copy()
    last[-1, 0] = 0
    assert shapley.settled(last)
    # Nothing for either of them: 1/11 = 9 % on average.
    last[-1] = 0
    assert not shapley.settled(last)


@pytest.mark.parametrize(
    ("values", "expected"), [([-2, 0, 6], [0, 0.25, 1]), ([3, 3], [0.5, 0.5]), ([4], [0.5]), ([], [])]
)
def test_relative_values(values, expected):
    assert shapley.relative(np.array(values)).tolist() == expected


def test_too_many_players_and_worths_that_are_no_numbers_are_refused():
    with pytest.raises(UsageError, match="up to 16 players, got 17; use tmc or gtg"):
        shapley.exact(Game(17, lambda group: 0.0))
    with pytest.raises(UsageError, match="orders must be a whole number of at least 1, got 0"):
        shapley.truncated(three(), stream(0, "s"), orders=0)
    broken = Game(2, lambda group: float("nan") if group == {1} else 0.0)
    with pytest.raises(InputError, match="the worth of players 1 is nan"):
        shapley.exact(broken)
    with pytest.raises(InputError, match="the worth of players nobody is -inf"):
        shapley.exact(Game(2, lambda group: float("-inf")))
