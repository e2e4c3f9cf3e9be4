"""The virtual clock: seconds worked out by hand, and the shape of the log-normal spread."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import callup
from callup.core.clients import Clients
from callup.core.errors import InputError, UsageError
from callup.core.randomness import client_uniforms, stream
from callup.report.tables import summarise
from callup.simulation.latency import LATENCIES
from callup.simulation.run import Run


def some(n: int, first: int = 0) -> Clients:
    return Clients(np.arange(first, first + n), num_examples=np.ones(n))


def test_fixed_by_hand() -> None:
    model = LATENCIES.make("fixed:seconds_per_step=0.5,megabytes_per_second=4")
    speeds = model.speeds(some(3), stream(0, "speeds"))
    assert speeds.tolist() == [0.5, 0.5, 0.5]
    seconds = model.expected(speeds, np.array([0, 1, 10]), np.array([8.0, 2.0, 0.0]))
    # 0 * 0.5 + 8 / 4, 1 * 0.5 + 2 / 4, 10 * 0.5 + 0 / 4
    assert seconds.tolist() == [2.0, 1.0, 5.0]
    assert model.stretch(np.array([4, 9]), 1, stream(0, "round")).tolist() == [1.0, 1.0]


def test_log_normal_without_spread_is_fixed() -> None:
    calm = LATENCIES.make("log-normal:seconds_per_step=0.5,megabytes_per_second=4,sigma=0,jitter=0")
    speeds = calm.speeds(some(3), stream(1, "speeds"))
    seconds = calm.expected(speeds, np.array([0, 1, 10]), np.array([8.0, 2.0, 0.0]))
    assert speeds.tolist() == [0.5, 0.5, 0.5] and seconds.tolist() == [2.0, 1.0, 5.0]
    assert calm.stretch(np.array([4, 9]), 1, stream(1, "round")).tolist() == [1.0, 1.0]


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
    stretch = model.stretch(np.arange(n), 1, stream(3, "round"))
    # Six standard errors as above.
    logs = np.log(stretch) / 0.3
    assert abs(logs.mean()) < 6 / np.sqrt(n) and abs(logs.std() - 1) < 6 / np.sqrt(2 * n)
    assert (stretch == model.stretch(np.arange(n), 1, stream(3, "round"))).all()
    assert (stretch != model.stretch(np.arange(n), 1, stream(3, "next round"))).any()
    # A client's hiccup does not depend on who else was called, so it is the same under every selector.
    assert model.stretch(np.array([7, 3]), 1, stream(3, "round")).tolist() == [stretch[7], stretch[3]]


def test_a_client_keeps_its_speed_whoever_else_is_there() -> None:
    model = LATENCIES.make("log-normal")
    all_of_them = model.speeds(some(10), stream(4, "speeds"))
    the_last = model.speeds(some(4, first=6), stream(4, "speeds"))
    assert all_of_them[6:].tolist() == the_last.tolist() and len(set(all_of_them.tolist())) == 10
    assert (model.speeds(some(10), stream(5, "speeds")) != all_of_them).all()


def test_nobody_takes_no_time() -> None:
    none = np.empty(0)
    for name in ("fixed", "log-normal", "tiers"):
        model = LATENCIES.make(name)
        assert model.expected(none, none, none).shape == (0,)
        assert model.stretch(np.empty(0, np.int64), 1, stream(0, "round")).shape == (0,)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("fixed:seconds_per_step=0", "fixed: seconds_per_step must be above 0"),
        ("fixed:megabytes_per_second=-1", "fixed: megabytes_per_second must be above 0"),
        ("fixed:seconds_per_step=inf", "finite, got inf"),
        ("log-normal:sigma=-0.1", "log-normal: sigma must be at least 0"),
        ("log-normal:jitter=inf", "log-normal: jitter must be at least 0 and finite"),
        ("log-norm", "did you mean 'log-normal'"),
        ("tiers:slowdowns=1/0", "tiers: slowdowns must be one finite number above 0 for each tier, got 1/0"),
        ("tiers:slowdowns=1/inf", "tiers: slowdowns must be one finite number above 0 for each tier, got 1/inf"),
        ("tiers:slowdowns=fast/slow", "tiers: slowdowns must be a list of a number, got 'fast/slow'"),
        ("tiers:jitter=-1", "tiers: jitter must be at least 0"),
        ("trace", "trace needs a value for 'file'"),
    ],
)
def test_bad_parameters_are_named(spec: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        LATENCIES.make(spec)


def test_tiers_by_hand() -> None:
    model = LATENCIES.make("tiers:slowdowns=1/2/8,seconds_per_step=0.5,megabytes_per_second=4")
    n = 6_000
    speeds = model.speeds(some(n), stream(6, "speeds"))
    values, counts = np.unique(speeds, return_counts=True)
    assert values.tolist() == [0.5, 1.0, 4.0]
    # A third each; six standard deviations of a binomial count: false alarm below 1e-8.
    assert (np.abs(counts - n / 3) < 6 * np.sqrt(n * 2 / 9)).all()
    # 10 * 4 + 8 / 4: sending is as quick in every tier.
    assert model.expected(np.array([4.0]), np.array([10]), np.array([8.0])).tolist() == [42.0]
    assert model.stretch(np.array([4, 9]), 1, stream(6, "round")).tolist() == [1.0, 1.0]


def test_a_client_keeps_its_tier_whoever_else_is_there() -> None:
    model = LATENCIES.make("tiers")
    all_of_them = model.speeds(some(40), stream(7, "speeds"))
    assert all_of_them[30:].tolist() == model.speeds(some(10, first=30), stream(7, "speeds")).tolist()
    assert set(all_of_them.tolist()) == {0.01, 0.02, 0.04, 0.08, 0.16}
    assert (model.speeds(some(40), stream(8, "speeds")) != all_of_them).any()


def written(folder: Path, content: Any) -> Path:
    file = folder / "speeds.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return file


def test_trace_by_hand(tmp_path: Path) -> None:
    both = {
        "seconds_per_step": {"0": 0.5, "2": 2, "1": 1.5, "7": 9},
        "factors": {"2": [1, 4], "1": [3, 0.5], "0": [1, 1]},
    }
    model = LATENCIES.make(f"trace:file={written(tmp_path, both)}")
    assert model.speeds(some(3), stream(0, "speeds")).tolist() == [0.5, 1.5, 2.0]  # client 7 is not in this federation
    assert model.stretch(np.array([2, 1]), 1, stream(0, "round")).tolist() == [1.0, 3.0]
    assert model.stretch(np.array([2, 1]), 2, stream(0, "round")).tolist() == [4.0, 0.5]
    with pytest.raises(InputError, match=r"speeds.json ends with round 2; lengthen it or set repeat=true"):
        model.stretch(np.array([2, 1]), 3, stream(0, "round"))
    again = LATENCIES.make(f"trace:file={tmp_path / 'speeds.json'},repeat=true")
    assert again.stretch(np.array([2, 1]), 3, stream(0, "round")).tolist() == [1.0, 3.0]


def test_trace_of_one_kind_alone(tmp_path: Path) -> None:
    model = LATENCIES.make(f"trace:file={written(tmp_path, {'seconds_per_step': {'0': 0.5, '1': 3}})}")
    assert model.speeds(some(2), stream(0, "speeds")).tolist() == [0.5, 3.0]
    assert model.stretch(np.array([1]), 99, stream(0, "round")).tolist() == [1.0]
    model = LATENCIES.make(f"trace:file={written(tmp_path, {'factors': {'0': [2]}})},seconds_per_step=7")
    assert model.speeds(some(1), stream(0, "speeds")).tolist() == [7.0]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ([], "must hold"),
        ({}, "must hold"),
        ({"speeds": {}}, "must hold"),
        ({"seconds_per_step": {}}, "'seconds_per_step' must map client ids to values and must not be empty"),
        ({"seconds_per_step": {"-1": 1}}, "'-1' must be a client id, a whole number from 0"),
        ({"seconds_per_step": {"01": 1}}, "'01' must be a client id, a whole number from 0"),
        ({"seconds_per_step": {"0": 0}}, "client 0 must be a number above 0, got 0"),
        ({"seconds_per_step": {"0": [1]}}, r"client 0 must be a number above 0, got \[1\]"),
        ('{"seconds_per_step": {"0": NaN}}', "client 0 must be a number above 0, got nan"),
        ('{"seconds_per_step": {"0": Infinity}}', "client 0 must be a number above 0, got inf"),
        ({"seconds_per_step": {"0": True}}, "client 0 must be a number above 0, got True"),
        ({"factors": {"0": 2}}, "client 0 must be a list of numbers above 0, one for each round"),
        ({"factors": {"0": []}}, "client 0 must be a list of numbers above 0, one for each round"),
        ({"factors": {"0": [1, -1]}}, "client 0 must be a list of numbers above 0, one for each round"),
        (
            {"factors": {"0": [1], "3": [1, 1]}},
            "must be equally long for all clients, got 1 for client 0, 2 for client 3",
        ),
    ],
)
def test_a_bad_trace_is_refused_in_one_sentence(tmp_path: Path, content: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        LATENCIES.make(f"trace:file={written(tmp_path, content)}")


def test_a_trace_must_exist_and_name_every_client(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read the trace"):
        LATENCIES.make(f"trace:file={tmp_path / 'nowhere.json'}")
    for content in ({"seconds_per_step": {"0": 1, "1": 1}}, {"factors": {"0": [1], "1": [1]}}):
        model = LATENCIES.make(f"trace:file={written(tmp_path, content)}")
        with pytest.raises(InputError, match="does not name client 2; every client needs an entry"):
            model.speeds(some(3), stream(0, "speeds"))


RUN: dict[str, Any] = {
    "partition": "dirichlet:clients=20,alpha=0.5",
    "k": 4,
    "rounds": 8,
    "seed": 3,
    "local": {"epochs": 1},
    "target": 0.45,
}


def check_clock(run: Run, lasts: list[float]) -> None:
    """Rounds last as long as their slowest client; the report adds them up to the first one at the target."""
    assert [r.seconds for r in run.history] == pytest.approx(lasts)
    assert [r.clock for r in run.history] == pytest.approx(np.cumsum(lasts))
    first = next(i for i, r in enumerate(run.history) if r.accuracy is not None and r.accuracy >= RUN["target"])
    assert 0 < first < len(lasts) - 1  # neither at once nor at the very end: the sum is put to the test
    row = summarise([run])[1]
    assert row["seconds_to_target"] == pytest.approx(sum(lasts[: first + 1]))
    assert row["simulated_seconds"] == pytest.approx(sum(lasts))


def test_time_to_target_with_tiers() -> None:
    run = callup.simulate(selector="random", latency="tiers:slowdowns=1/4/16", **RUN)
    # One epoch in batches of 20, at 0.01 s a step times the tier's slowdown; the model is sent twice at 1 MB/s.
    slow = np.array([1, 4, 16])[(client_uniforms(stream(3, "speeds"), np.arange(20)) * 3).astype(int)]
    assert set(slow.tolist()) == {1, 4, 16}
    seconds = np.ceil(run.clients.all("num_examples") / 20) * 0.01 * slow + 2 * run.model.nbytes / 1e6
    assert run.clients.all("latency") == pytest.approx(seconds)
    check_clock(run, [max(seconds[r.used]) for r in run.history])


def test_time_to_target_with_log_normal_speeds_and_hiccups() -> None:
    run = callup.simulate(selector="random", latency="log-normal:sigma=1,jitter=0.5", **RUN)
    lasts = []
    for record in run.history:
        rng, ids = stream(3, "latency", record.index), np.arange(20)
        radius = np.sqrt(-2 * np.log(client_uniforms(rng, ids)))
        hiccup = np.exp(0.5 * radius * np.cos(2 * np.pi * client_uniforms(rng, ids)))
        lasts.append(max((run.clients.all("latency") * hiccup)[record.used]))
    check_clock(run, lasts)


def test_time_to_target_from_a_trace(tmp_path: Path) -> None:
    factors = {str(i): [1 + (i * r) % 5 for r in range(8)] for i in range(20)}
    file = written(tmp_path, {"seconds_per_step": {str(i): 0.01 * (i + 1) for i in range(20)}, "factors": factors})
    run = callup.simulate(selector="random", latency=f"trace:file={file}", **RUN)
    usual = np.ceil(run.clients.all("num_examples") / 20) * 0.01 * np.arange(1, 21) + 2 * run.model.nbytes / 1e6
    lasts = [max(usual[i] * (1 + (i * (r.index - 1)) % 5) for i in r.used) for r in run.history]
    check_clock(run, lasts)
