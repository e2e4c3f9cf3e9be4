"""Whether a difference is more than noise: the interval, its calibration, and who is set in bold."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from callup.analytics.student import student
from callup.core.clients import Clients
from callup.core.randomness import stream
from callup.report import contest
from callup.report.grouping import Scenario, scenarios
from callup.report.statistics import bootstrap, paired
from callup.simulation.run import RoundRecord, Run

CLIENTS = Clients([0, 1], label_counts=[[1, 0], [0, 1]])


def a_scenario(finals: dict[str, Sequence[float]], target: float | None = None) -> Scenario:
    """One evaluated round for each seed of each method."""
    runs = [
        Run(
            {"scenario": "s", "selector": name, "seed": seed, "target": target},
            CLIENTS,
            (RoundRecord(1, 2, [0], [0], [0], {}, "d", accuracy=value),),
            model=np.zeros(1),
            states={},
        )
        for name, values in finals.items()
        for seed, value in enumerate(values)
    ]
    return scenarios(runs)[0]


def test_interval_against_every_resample() -> None:
    values = [1.0, 2.0, 6.0, 3.0]
    # All 4^4 resamples, each equally likely.
    means = np.array([np.mean(draw) for draw in itertools.product(values, repeat=4)])
    low, high = np.quantile(means, [0.025, 0.975])
    stretch = (4 / 3) ** 0.5 * 3.1824 / 1.959964
    found = bootstrap(values)
    assert found.mean == 3.0
    # 10,000 resamples put the ends within a lattice step of 0.25, stretched, of the exact ones.
    assert found.low == pytest.approx(3 + stretch * (low - 3), abs=0.25 * stretch)
    assert found.high == pytest.approx(3 + stretch * (high - 3), abs=0.25 * stretch)
    assert bootstrap(values) == found


@pytest.mark.parametrize(("freedom", "quantile"), [(1, 12.706), (4, 2.776), (11, 2.201), (20, 2.086), (60, 2.000)])
def test_student_quantiles_of_the_printed_tables(freedom: int, quantile: float) -> None:
    assert student(freedom) == pytest.approx(quantile, abs=1e-3)


@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_noise_is_rarely_called_a_difference(seeds: int) -> None:
    # 600 experiments with no difference. At 5.5 % alarms the count has mean 33 and deviation 5.6; 56 is four
    # deviations up, so with another seed this would fail by chance once in 30,000 times. The plain percentile
    # interval would raise some 150 alarms at three seeds, where three equal signs suffice.
    rng = stream(3, "noise", seeds)
    alarms = sum(bootstrap(rng.normal(size=seeds).tolist(), resamples=500).distinct for _ in range(600))
    assert alarms <= 56


def test_a_clear_difference_is_called_one() -> None:
    assert bootstrap([10.0, 11.0, 10.5, 9.5, 10.2]).distinct
    assert bootstrap([-10.0, -11.0, -10.5]).distinct


def test_fewer_than_three_seeds_tell_nothing() -> None:
    assert not bootstrap([5.0]).distinct
    assert not bootstrap([5.0, 5.0]).distinct
    assert bootstrap([5.0, 5.0, 5.0]).distinct


def test_only_shared_seeds_are_paired() -> None:
    found = paired({1: 5.0, 2: 7.0, 3: 100.0}, {1: 4.0, 2: 4.0, 9: 0.0})
    assert found is not None
    assert (found.mean, found.seeds) == (2.0, 2)
    assert paired({1: 5.0}, {2: 5.0}) is None


def test_bold_is_the_best_and_all_not_told_from_it() -> None:
    scenario = a_scenario(
        {
            "best": [0.80, 0.81, 0.82, 0.80, 0.81],
            "close": [0.81, 0.80, 0.81, 0.81, 0.80],
            "worse": [0.60, 0.61, 0.62, 0.60, 0.61],
        }
    )
    assert contest.as_good_as_best(scenario, contest.FINAL) == {"best", "close"}


def test_nothing_is_bold_without_enough_seeds_or_rivals() -> None:
    assert contest.as_good_as_best(a_scenario({"a": [0.9, 0.9], "b": [0.1, 0.1]}), contest.FINAL) == set()
    assert contest.as_good_as_best(a_scenario({"a": [0.9, 0.9, 0.9]}), contest.FINAL) == set()


def test_who_calls_everyone_is_a_reference_and_no_rival() -> None:
    scenario = a_scenario({"all": [0.99] * 3, "random": [0.5, 0.51, 0.52], "fed-cbs": [0.8, 0.81, 0.83]})
    assert [m.name for m in contest.ranking(scenario, contest.FINAL)] == ["fed-cbs", "random"]


def test_not_reached_counts_as_one_round_more_than_there_were() -> None:
    scenario = a_scenario({"a": [0.9, 0.1, 0.9], "b": [0.1, 0.1, 0.1]}, target=0.5)
    first, second = scenario.methods
    assert contest.by_seed(scenario, first, contest.ROUNDS) == {0: 1, 1: 2, 2: 1}
    assert contest.by_seed(scenario, second, contest.ROUNDS) == {0: 2, 1: 2, 2: 2}
