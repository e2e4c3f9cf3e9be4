"""The virtual clock: seconds worked out by hand, and the shape of the log-normal spread."""

from __future__ import annotations

import numpy as np
import pytest

from callup.core.clients import Clients
from callup.core.errors import UsageError
from callup.core.randomness import stream
from callup.simulation.latency import LATENCIES


def some(n: int, first: int = 0) -> Clients:
    return Clients(np.arange(first, first + n), num_examples=np.ones(n))


def test_fixed_by_hand() -> None:
    model = LATENCIES.make("fixed:seconds_per_step=0.5,megabytes_per_second=4")
    speeds = model.speeds(some(3), stream(0, "speeds"))
    assert speeds.tolist() == [0.5, 0.5, 0.5]
    seconds = model.expected(speeds, np.array([0, 1, 10]), np.array([8.0, 2.0, 0.0]))
    # 0 * 0.5 + 8 / 4, 1 * 0.5 + 2 / 4, 10 * 0.5 + 0 / 4
    assert seconds.tolist() == [2.0, 1.0, 5.0]
    assert model.stretch(np.array([4, 9]), stream(0, "round")).tolist() == [1.0, 1.0]


def test_log_normal_without_spread_is_fixed() -> None:
    calm = LATENCIES.make("log-normal:seconds_per_step=0.5,megabytes_per_second=4,sigma=0,jitter=0")
    speeds = calm.speeds(some(3), stream(1, "speeds"))
    seconds = calm.expected(speeds, np.array([0, 1, 10]), np.array([8.0, 2.0, 0.0]))
    assert speeds.tolist() == [0.5, 0.5, 0.5] and seconds.tolist() == [2.0, 1.0, 5.0]
    assert calm.stretch(np.array([4, 9]), stream(1, "round")).tolist() == [1.0, 1.0]


def test_log_normal_spread_over_clients() -> None:
    model = LATENCIES.make("log-normal:seconds_per_step=0.02,sigma=0.5")
    n = 40_000
    logs = np.log(model.speeds(some(n), stream(2, "speeds")) / 0.02) / 0.5
    # Standard normal: mean 0 +- 1/sqrt(n), deviation 1 +- 1/sqrt(2n). Six standard errors: false alarm below 1e-8.
    assert abs(logs.mean()) < 6 / np.sqrt(n) and abs(logs.std() - 1) < 6 / np.sqrt(2 * n)
    # P(Z > 1) = 0.1587 and P(Z > 2) = 0.0228, each with a standard error of sqrt(p (1 - p) / n).
    for border, p in ((1, 0.15866), (2, 0.02275)):
        assert abs((logs > border).mean() - p) < 6 * np.sqrt(p * (1 - p) / n)


def test_log_normal_jitter_has_median_one_and_its_own_luck_every_round() -> None:
    model = LATENCIES.make("log-normal:sigma=0,jitter=0.3")
    n = 40_000
    stretch = model.stretch(np.arange(n), stream(3, "round"))
    # Six standard errors as above.
    logs = np.log(stretch) / 0.3
    assert abs(logs.mean()) < 6 / np.sqrt(n) and abs(logs.std() - 1) < 6 / np.sqrt(2 * n)
    assert (stretch == model.stretch(np.arange(n), stream(3, "round"))).all()
    assert (stretch != model.stretch(np.arange(n), stream(3, "next round"))).any()
    # A client's hiccup does not depend on who else was called, so it is the same under every selector.
    assert model.stretch(np.array([7, 3]), stream(3, "round")).tolist() == [stretch[7], stretch[3]]


def test_a_client_keeps_its_speed_whoever_else_is_there() -> None:
    model = LATENCIES.make("log-normal")
    all_of_them = model.speeds(some(10), stream(4, "speeds"))
    the_last = model.speeds(some(4, first=6), stream(4, "speeds"))
    assert all_of_them[6:].tolist() == the_last.tolist() and len(set(all_of_them.tolist())) == 10
    assert (model.speeds(some(10), stream(5, "speeds")) != all_of_them).all()


def test_nobody_takes_no_time() -> None:
    none = np.empty(0)
    for name in ("fixed", "log-normal"):
        model = LATENCIES.make(name)
        assert model.expected(none, none, none).shape == (0,)
        assert model.stretch(np.empty(0, np.int64), stream(0, "round")).shape == (0,)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("fixed:seconds_per_step=0", "fixed: seconds_per_step must be above 0"),
        ("fixed:megabytes_per_second=-1", "fixed: megabytes_per_second must be above 0"),
        ("fixed:seconds_per_step=inf", "finite, got inf"),
        ("log-normal:sigma=-0.1", "log-normal: sigma must be at least 0"),
        ("log-normal:jitter=inf", "log-normal: jitter must be at least 0 and finite"),
        ("log-norm", "did you mean 'log-normal'"),
    ],
)
def test_bad_parameters_are_named(spec: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        LATENCIES.make(spec)
