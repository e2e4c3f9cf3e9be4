"""Rounds to a target and their ratios, worked out by hand."""

import math

import pytest

from callup.experiments.metrics import Measured, Series
from callup.experiments.tournament.markdown import ratio
from callup.experiments.tournament.speed import fastest, reached, slower


def curve(*accuracies, every=5):
    index = tuple(range(every, every * len(accuracies) + 1, every))
    return Series(index[-1], index, accuracies, (0.0,) * len(index), (), 0.0, accuracies)


def rounds(*values):
    return {seed: Measured(float(value)) for seed, value in enumerate(values)}


NEVER = Measured(10.0, "above")


@pytest.mark.parametrize(
    ("accuracies", "there"),
    [
        ((0.1, 0.3, 0.7), 12.5),  # half way from 0.3 in round 10 to 0.7 in round 15
        ((0.1, 0.5, 0.7), 10.0),  # just there
        ((0.6, 0.7, 0.8), 5.0),  # before it nothing is known
        ((0.1, 0.6, 0.4), 9.0),  # the first time counts, whatever comes after
    ],
)
def test_between_two_evaluations_the_curve_is_straight(accuracies, there):
    assert reached(curve(*accuracies), 0.5) == Measured(pytest.approx(there))


def test_a_run_that_never_got_there_gives_a_bound():
    assert reached(curve(0.1, 0.2), 0.5) == NEVER


def test_twice_and_half_as_long_make_a_tie():
    found = slower(rounds(20, 10), rounds(10, 20))
    assert found.mean == pytest.approx(0.0)
    # By logarithms +-0.6931: 12.7062 x 0.98026 / sqrt(2) = 8.8073 to each side.
    assert (found.low, found.high) == pytest.approx((math.exp(-8.8073) - 1, math.exp(8.8073) - 1), rel=1e-3)


def test_two_methods_are_as_much_slower_than_each_other_as_faster():
    one, other = rounds(12, 30, 8, 21), rounds(10, 14, 16, 20)
    forth, back = slower(one, other), slower(other, one)
    assert (1 + forth.mean) * (1 + back.mean) == pytest.approx(1)
    assert (1 + forth.low) * (1 + back.high) == pytest.approx(1)


def test_who_never_got_there_is_endlessly_slower_and_never_the_fastest():
    late = {0: Measured(10.0), 1: NEVER}
    found = slower(late, rounds(40, 40))
    assert (found.mean, found.low, found.high, found.pairs) == (math.inf, -math.inf, math.inf, 2)
    assert fastest({"a": late, "b": rounds(40, 40)}, ["a", "b"]) == "b"


def test_seeds_in_which_the_other_never_got_there_are_left_out():
    assert slower(rounds(11, 20), {0: Measured(10.0), 1: NEVER}).mean == pytest.approx(0.1)


def test_one_seed_has_a_ratio_and_no_interval():
    assert ratio(slower(rounds(11), rounds(10))) == "1.10"


def test_the_fastest_goes_by_the_mean_of_logarithms():
    # 10 and 40 are 20 by it, and 25 by the plain mean.
    assert fastest({"a": rounds(10, 40), "b": rounds(22, 22)}, ["a", "b"]) == "a"
