"""More seeds where it is unclear how the champion stands: for whom, how often, and never anywhere else."""

import pytest

from callup.experiments.tournament.page import page
from callup.experiments.tournament.standings import standings

EVEN = [0.80, 0.80, 0.80]
WIDE = [0.90, 0.80, 0.71]  # against EVEN: +0.3 points, anything from -24 to +24
SURE = [0.90, 0.90, 0.90]


@pytest.fixture
def long(case):
    """Three seeds and up to two periods of two more; d is another form of the champion a."""

    def made(*names, **more):
        cup = case.cup("random", "a", *names, champion="a", seeds=3, extra_seeds=2, periods=2, **more)
        return case.played(cup)

    return made


def fill(played, first=0, **scores):
    for name, values in scores.items():
        for seed, value in enumerate(values, first):
            played.put(name, seed, value)


def fill_late_and_low(played, name):
    """Behind on test data by accuracy and, by a round, in rounds; not cut, for on validation data it is level."""
    for seed in range(3):
        played.put(name, seed, 0.50, validation=0.80)


def lines(played):
    return {line.method: line for line in standings(played.board, played.board.places[0])}


def test_who_may_still_be_the_best_plays_on_and_who_is_behind_does_not(long):
    played = long("b", "c")
    fill(played, random=[0.5] * 3, a=EVEN, b=WIDE)
    fill_late_and_low(played, "c")
    assert lines(played)["c"].standing == "open"  # nobody is judged before extra time is over
    assert played.names() == [(name, seed) for name in ("a", "b", "random") for seed in (3, 4)]
    assert not played.board.finished(played.board.places[0])


def test_other_forms_of_the_champion_play_none(long):
    played = long("b", "d", ours=("d",))
    fill(played, random=[0.5] * 3, a=EVEN, b=WIDE, d=EVEN)
    assert {name for name, _ in played.names()} == {"a", "b", "random"}


def test_nobody_plays_on_where_it_is_clear(long):
    played = long("b")
    fill(played, random=[0.5] * 3, a=SURE, b=WIDE)
    assert played.names() == []
    assert played.board.finished(played.board.places[0])
    # Not even when it is unclear for others how they stand.
    assert lines(played)["b"].standing == "unclear"


def test_after_it_all_seeds_count(long):
    played = long("b")
    fill(played, random=[0.5] * 3, a=EVEN, b=WIDE)
    fill(played, 3, random=[0.5] * 2, a=[0.95] * 2, b=[0.90, 0.90])
    found = lines(played)
    # a: (3 x 0.80 + 2 x 0.95) / 5 = 0.86; b: (0.90 + 0.80 + 0.71 + 2 x 0.90) / 5 = 0.842.
    assert found["a"].accuracy.value == pytest.approx(0.86)
    assert found["b"].to_best.mean == pytest.approx(-0.018)
    assert (found["a"].standing, found["a"].accuracy.n, found["b"].to_best.pairs) == ("best", 5, 5)
    assert played.names() == []


def test_there_is_a_second_period_for_those_of_the_first_and_no_third(long):
    played = long("b", "c")
    fill(played, random=[0.5] * 3, a=EVEN, b=WIDE)
    fill_late_and_low(played, "c")
    fill(played, 3, random=[0.5] * 2, a=[0.80] * 2, b=[0.90, 0.71])
    assert played.names() == [(name, seed) for name in ("a", "b", "random") for seed in (5, 6)]
    fill(played, 5, random=[0.5] * 2, a=[0.80] * 2, b=[0.90, 0.71])
    assert played.names() == []
    found = lines(played)
    assert found["a"].standing == "unclear"
    assert (found["a"].accuracy.n, found["c"].accuracy.n) == (7, 3)


def test_who_has_no_extra_time_is_no_longer_the_best_but_compared_where_both_played(long):
    played = long("b", "d", ours=("d",))
    fill(played, random=[0.5] * 3, a=EVEN, b=WIDE, d=[0.81] * 3)
    fill(played, 3, random=[0.5] * 2, a=[0.95] * 2, b=[0.7] * 2)
    assert lines(played)["d"].to_best.mean == pytest.approx(0.81 - 0.803, abs=1e-3)


def test_a_cup_without_extra_time_has_none(case):
    played = case.played(case.cup("random", "a", "b", champion="a", seeds=3))
    fill(played, random=[0.5] * 3, a=EVEN, b=WIDE)
    assert played.names() == []


def test_the_page_says_where_there_was_extra_time(long):
    played = long("b")
    fill(played, random=[0.5] * 3, a=EVEN, b=WIDE)
    assert "In 1 of 1 places: w: e (5 seeds)." in "\n".join(page(played.board))
