"""The numbers of the published tables, on curves short enough to count by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest

from callup.core.clients import Clients
from callup.core.errors import InputError, UsageError
from callup.experiments.metrics import METRICS, Measured, Series, pooled, series
from callup.simulation.audit import Contributions
from callup.simulation.run import RoundRecord, Run


def record(index: int, accuracy: float | None = None, **facts: object) -> RoundRecord:
    values = {"available": 3, "asked": [0], "used": [0], "kept": [0], "failed": {}, "digest": ""}
    return RoundRecord(index=index, accuracy=accuracy, **{**values, **facts})  # type: ignore[arg-type]


def curve(*accuracies: float | None, seconds: float = 0.0) -> list[RoundRecord]:
    return [record(i, a, clock=seconds * i) for i, a in enumerate(accuracies, 1)]


RISING = curve(0.1, 0.3, 0.2, 0.6, 0.5, 0.7, seconds=10.0)


def value(name: str, *given: object, **options: object) -> float | None:
    found = METRICS[name](*given, **options)
    assert not found.censored
    return found.value


def test_terminal_accuracy_is_the_mean_of_the_last_rounds() -> None:
    assert value("terminal_accuracy", RISING, last=3) == pytest.approx((0.6 + 0.5 + 0.7) / 3)
    # Tested every second round: of the last three rounds, 4 to 6, only 4 and 6 count.
    sparse = curve(None, 0.3, None, 0.6, None, 0.7)
    assert value("terminal_accuracy", sparse, last=3) == pytest.approx(0.65)
    # Fifty rounds is what FedACS takes: here 51 rounds, of which the first does not count.
    assert value("terminal_accuracy", curve(0.0, *[0.5] * 50)) == 0.5
    with pytest.raises(UsageError, match="last 50 rounds was asked for, the run has 6"):
        METRICS["terminal_accuracy"](RISING)


def test_best_and_final_accuracy() -> None:
    falling = curve(0.1, 0.8, None, 0.5, float("nan"))
    assert value("best_accuracy", falling) == 0.8
    assert value("top_1_accuracy", falling) == 0.5
    assert METRICS["best_accuracy"]([]).value is None
    assert METRICS["top_1_accuracy"](curve(None)).value is None


def test_relative_improvement_is_the_share_of_harm_undone() -> None:
    # FedACS Table I, low: from 69.7 to 72.5 where IID has 74.0 is 2.8 of 4.3.
    found = METRICS["relative_improvement"](Measured(72.5), base=69.7, ideal=Measured(74.0))
    assert found.value == pytest.approx(2.8 / 4.3)
    runs = [curve(*[level] * 4) for level in (0.5, 0.4, 0.8)]
    assert value("relative_improvement", runs[0], base=runs[1], ideal=runs[2], last=2) == pytest.approx(0.25)
    assert METRICS["relative_improvement"](0.5, base=0.4, ideal=0.4).value is None


def test_improvement_over_another_run() -> None:
    # NCCB Table 1, Superuser: 11.784 over 10.035 is 17.429 %.
    assert value("improvement", 11.784, base=10.035) == pytest.approx(0.17429, abs=5e-6)
    assert METRICS["improvement"](0.5, base=0.0).value is None


def test_rounds_to_target_counts_the_first_round_that_reaches_it() -> None:
    assert value("rounds_to_target", RISING, target=0.6) == 4
    assert value("rounds_to_target", RISING, target=0.1) == 1
    # FedACS tests every 5 rounds: round 4 has the accuracy, but only 5, 10, ... are looked at.
    assert value("rounds_to_target", curve(0, 0, 0, 0.7, 0.6, 0.7, 0.7, 0.7, 0.7, 0.8), target=0.65, every=5) == 10
    # The mean of two tests: (0.2 + 0.6) / 2 is too low, (0.6 + 0.5) / 2 is enough.
    assert value("rounds_to_target", RISING, target=0.55, window=2) == 5


def test_a_target_that_is_never_reached_is_a_bound() -> None:
    found = METRICS["rounds_to_target"](RISING, target=0.71)
    assert (found.value, found.bound, found.censored, found.text()) == (6, "above", True, "> 6")
    # The last test is what is known: round 5 was not tested.
    assert METRICS["rounds_to_target"](curve(0.1, 0.2, 0.2, 0.3, None), target=0.5).text() == "> 4"
    # And so is the last test that counts: of rounds 2 and 4 neither is enough, round 5 is not looked at.
    assert METRICS["rounds_to_target"](curve(0.1, 0.2, 0.2, 0.3, 0.6), target=0.5, every=2).text() == "> 4"
    assert METRICS["rounds_to_target"]([], target=0.5).value is None


def test_r_at_99_is_relative_to_the_best_of_random() -> None:
    random = curve(0.2, 0.8, 0.7)
    # 99 % of 0.8 is 0.792.
    assert value("r_at_99", curve(0.5, 0.791, 0.792), reference=random) == 3
    assert METRICS["r_at_99"](curve(0.5, 0.791), reference=random).text() == "> 2"
    assert value("r_at_99", random, reference=random) == 2


def test_rounds_to_what_another_run_reached() -> None:
    other = curve(0.2, 0.8, 0.6, 0.4)
    mine = curve(0.45, 0.55, 0.65, 0.85)
    assert value("rounds_to_reference", mine, reference=other) == 4  # its best, 0.8
    assert value("rounds_to_reference", mine, reference=other, of="final") == 1  # 0.4
    assert value("rounds_to_reference", mine, reference=other, of="terminal", last=2) == 2  # 0.5
    assert value("rounds_to_reference", mine, reference=0.6) == 3


def test_speed_up_and_its_bounds() -> None:
    slow, fast, never = curve(0, 0, 0, 0.5), curve(0, 0.5), curve(0, 0, 0, 0, 0)
    assert value("speed_up", fast, base=slow, target=0.5) == 2.0
    # 4 rounds against more than 5: slower than 0.8 times.
    found = METRICS["speed_up"](never, base=slow, target=0.5)
    assert (found.value, found.bound) == (0.8, "below")
    # More than 5 against 2: faster than 2.5 times.
    found = METRICS["speed_up"](fast, base=never, target=0.5)
    assert (found.value, found.bound, found.text()) == (2.5, "above", "> 2.5")
    assert METRICS["speed_up"](never, base=never, target=0.5).value is None
    # FedACS Table II, high: 365 rounds against 155.
    assert METRICS["speed_up"](155, base=365).text() == "2.4"
    with pytest.raises(UsageError, match="give target"):
        METRICS["speed_up"](fast, base=slow)


def test_round_reduction_and_its_bounds() -> None:
    # NCCB Table 2, Superuser: 134 of 283 rounds is 52.7 % fewer.
    assert METRICS["round_reduction"](134, base=283).text(1, scale=100) == "52.7"
    # More than 5 rounds of 4: saves less than -25 %.
    found = METRICS["round_reduction"](curve(0, 0, 0, 0, 0), base=curve(0, 0, 0, 0.5), target=0.5)
    assert (found.value, found.bound) == (-0.25, "below")


def test_time_to_target_reads_the_clock() -> None:
    assert value("time_to_target", RISING, target=0.6) == 40.0
    found = METRICS["time_to_target"](RISING, target=0.9)
    assert (found.value, found.bound) == (60.0, "above")
    assert METRICS["time_to_target"](curve(0.9), target=0.5).value is None  # no clock


def test_source_recall_is_over_the_classes_of_mavericks() -> None:
    history = [record(1, 0.5, recall=[0.0, 0.5, 1.0]), record(2, 0.5, recall=[0.2, 0.6, None])]
    assert value("source_recall", history, classes=[0, 1]) == pytest.approx(0.4)
    assert value("source_recall", history, classes=[0, 1], last=2) == pytest.approx(0.325)
    assert METRICS["source_recall"](history, classes=[2]).value is None  # no sample of it in the test
    run = Run({"rare_classes": [1]}, Clients(np.arange(1)), tuple(history), np.empty(0), {})
    assert value("source_recall", run) == 0.6
    with pytest.raises(UsageError, match="needs the classes of the Mavericks"):
        METRICS["source_recall"](history)
    with pytest.raises(UsageError, match=r"asked for classes \[3\], the data has 3"):
        METRICS["source_recall"](history, classes=[3])


def test_expected_qcid_is_over_all_rounds_with_anybody() -> None:
    history = [record(1, qcid=0.1), record(2, qcid=None), record(3, qcid=0.4)]
    assert value("expected_qcid", history) == pytest.approx(0.25)
    assert METRICS["expected_qcid"](curve(0.5)).value is None


def test_shapley_values_are_scaled_within_each_round() -> None:
    # Scaled to 0 ... 1: client 7 has (1 - 0) / 4 = 0.25 in round 1, 1 in round 3 and is not in round 2.
    rounds = [
        Contributions(1, np.array([7, 8, 9]), np.array([1.0, 0.0, 4.0])),
        Contributions(2, np.array([8, 9]), np.array([1.0, 2.0])),
        Contributions(3, np.array([5, 7]), np.array([-3.0, -1.0])),
    ]
    assert value("normalised_shapley", rounds, client=7) == pytest.approx(0.625)
    assert value("normalised_shapley", rounds, client=7, first=2) == 1.0
    assert value("normalised_shapley", rounds, client=7, last=2) == 0.25
    assert METRICS["normalised_shapley"](rounds, client=4).value is None
    # Means within the rounds: 1.25 / 3, 0.5 and 0.5.
    assert value("average_shapley", rounds) == pytest.approx((1.25 / 3 + 1.0) / 3)


def exact(*values: float) -> list[Measured]:
    return [Measured(v) for v in values]


def test_seeds_are_pooled_with_their_bounds() -> None:
    mean = pooled(exact(1.0, 2.0, 6.0))
    # Deviations -2, -1, 3: 14 / 2 = 7.
    assert (mean.value, mean.n, mean.text()) == (3.0, 3, "3.0 ± 2.6") and mean.std == pytest.approx(7**0.5)
    assert pooled(exact(1.0, 2.0, 6.0), "median").value == 2.0
    above = pooled([*exact(100.0, 160.0), Measured(200.0, "above")])
    assert (above.text(), above.std, above.n) == ("> 153.3", None, 3)
    # The median is 160 wherever above 200 the third run would have ended.
    median = pooled([*exact(100.0, 160.0), Measured(200.0, "above")], "median")
    assert (median.value, median.censored) == (160.0, False)
    median = pooled([*exact(100.0), Measured(200.0, "above"), Measured(200.0, "above")], "median")
    assert (median.value, median.bound, median.text()) == (200.0, "above", "> 200")
    assert pooled([Measured(1.0, "above"), Measured(2.0, "below")]).value is None
    some = pooled([Measured(None), *exact(2.0)])
    assert (some.value, some.n, some.std) == (2.0, 1, None)
    assert pooled([]).text() == "–" and pooled([Measured(None)]).n == 0


def test_a_series_keeps_all_that_metrics_need() -> None:
    history = [
        record(1, 0.5, recall=[0.25, None], clock=3.0, qcid=0.125),
        record(2, None, clock=5.0, qcid=0.375),
        record(3, 0.75, recall=[0.5, 1.0], clock=8.0, qcid=None),
    ]
    kept = series(history)
    assert kept == Series(3, (1, 3), (0.5, 0.75), (3.0, 8.0), ((0.25, None), (0.5, 1.0)), 0.25)
    assert Series.from_plain(json.loads(json.dumps(kept.plain()))) == kept and series(kept) is kept
    for broken in ({}, {**kept.plain(), "accuracy": None}, {**kept.plain(), "index": [1]}):
        with pytest.raises(InputError):
            Series.from_plain(broken)
