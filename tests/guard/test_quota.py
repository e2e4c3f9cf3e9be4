"""The rate cap, by hand and by brute force."""

from __future__ import annotations

import numpy as np
import pytest

from callup.core.errors import UsageError
from callup.guard.bound import bound
from callup.guard.limits import Limits
from callup.guard.quota import allowance, fair_turn


def test_allowance_by_hand() -> None:
    # cap 1.5; held back: turns / 8, at most 1. 1.5 * 3 - 0.375 = 4.125; 1.5 * 8 - 1 = 11; 1.5 * 9 - 1 = 12.5.
    turns = np.array([3.0, 3.0, 8.0, 9.0, 9.0])
    luck = np.array([0.8, 0.9, 0.99, 0.4, 0.6])
    assert allowance(turns, luck, 1.5).tolist() == [4, 5, 11, 12, 13]


def test_three_calls_are_allowed_in_advance() -> None:
    assert allowance(np.array([0.0, 0.01, 2.0]), np.array([0.0, 0.9, 0.2]), 1.0).tolist() == [3, 3, 3]


@pytest.mark.parametrize("cap", [1.0, 1.5, 2.5])
def test_never_above_the_cap_after_eight_turns(cap: float) -> None:
    for turns in np.arange(8.0, 40.0, 0.37):
        luck = np.linspace(0, 0.999999, 101)
        assert (allowance(np.full(101, turns), luck, cap) <= cap * turns).all()


def test_never_falls_as_turns_pass() -> None:
    luck = np.linspace(0.01, 0.99, 25)
    before = np.zeros(25)
    for turns in np.arange(0.0, 20.0, 0.05):
        now = allowance(np.full(25, turns), luck, 1.5)
        assert (now >= before).all()
        before = now


def test_the_mean_over_luck_is_the_cap_less_what_is_held_back() -> None:
    luck = (np.arange(100_000) + 0.5) / 100_000
    assert allowance(np.full(100_000, 4.3), luck, 1.5).mean() == pytest.approx(1.5 * 4.3 - 4.3 / 8, abs=1e-4)


def test_fair_turns_add_up_to_the_places() -> None:
    assert 40 * fair_turn(10, 40) == 10
    assert 4 * fair_turn(10, 4) == 4  # no more places than clients
    assert fair_turn(10, 0) == 0


@pytest.mark.parametrize(
    ("share", "cap", "pool", "turns", "places"),
    [
        (0.2, 1.5, None, None, 0.3),
        (0.2, 1.5, 0.5, None, 0.3),
        (0.2, 2.5, 0.4, None, 0.5),  # 0.2 / 0.4 and 2.5 * 0.2 are the same
        (0.2, 4.0, 0.5, None, 0.4),  # the pool's part is the smaller one
        (0.2, 1.5, 0.9, None, 0.3),  # a third may be all that is below the cap: a pool of nine tenths cannot be filled
        (0.2, 1.5, None, 1.0, 0.6),  # one turn each: everybody may be called three times
        (0.2, 1.5, None, 2.0, 0.3),  # from two turns on the cap is what counts
        (0.9, 1.5, None, None, 1.0),
    ],
)
def test_bound(share: float, cap: float, pool: float | None, turns: float | None, places: float) -> None:
    assert bound(share, Limits(cap), pool, turns).places == pytest.approx(places)


@pytest.mark.parametrize(
    ("share", "limits", "turns", "places"),
    [
        (0.2, Limits(1.5, advance=11), 10.0, 0.3),  # 11 calls in 10 turns are fewer than the cap allows
        (0.2, Limits(1.5, advance=11), 5.0, 0.44),  # 11 calls in 5 turns are 2.2 times the fair share
        (0.2, Limits(1.5, extra=0.25, most=6), None, 0.55),
        (0.01, Limits(1.5, extra=0.25, most=6), None, 0.06),  # six times a hundredth, and not 0.265
        (0.01, Limits(1.5, extra=0.25), None, 0.265),
        (0.0, Limits(1.5, extra=0.25), None, 0.0),
        (0.8, Limits(1.5, extra=0.25, most=6), None, 1.0),
    ],
)
def test_bound_with_a_head_start_and_with_a_purse(
    share: float, limits: Limits, turns: float | None, places: float
) -> None:
    assert bound(share, limits, None, turns).places == pytest.approx(places)


def test_bound_says_what_it_rests_on() -> None:
    assert "min(0.2/0.5, 1.5 x 0.2) = 30% of places, once each client had 2 fair turns" in str(
        bound(0.2, Limits(1.5), 0.5)
    )
    assert str(bound(0.2, Limits(1.5), None, 10)).endswith("at most 1.5 x 0.2 = 30% of places")
    assert str(bound(0.2, Limits(1.5, advance=11), None, 5)).endswith("at most 11/5 x 0.2 = 44% of places")
    assert str(bound(0.2, Limits(1.5, extra=0.2, most=6), None, 10)).endswith(
        "at most min(1.5 x 0.2 + 0.2, 6 x 0.2) = 50% of places"
    )
    with pytest.raises(UsageError, match="from 0 to 1, got 2"):
        bound(2, Limits(1.5), None)


def test_a_pool_that_cannot_be_filled_is_not_part_of_the_promise() -> None:
    # 1 - 1/1.5 is a third: a pool of 0.9 cannot be counted on, and 0.2/0.9 = 22% would be less than the cap allows.
    assert "0.2/0.9" not in str(bound(0.2, Limits(1.5), 0.9))
