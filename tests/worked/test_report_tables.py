"""The summary rows, on runs small enough to do in the head."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import pytest

from callup.core.clients import Clients
from callup.core.errors import InputError
from callup.report import summarise
from callup.simulation.run import Ledger, RoundRecord, Run

CLIENTS = Clients([0, 1, 2, 3], label_counts=[[4, 0], [0, 4], [2, 2], [1, 3]])


def a_run(
    accuracies: Sequence[float | None],
    asked: Sequence[Sequence[int]] | None = None,
    qcid: float | None = 0.25,
    seconds: float = 2.0,
    **settings: Any,
) -> Run:
    """One record for each accuracy; 10 bytes down and 5 up in each round."""
    chosen = [list(ids) for ids in asked or [[0, 1]] * len(accuracies)]
    history = tuple(
        RoundRecord(
            t,
            4,
            chosen[t - 1],
            chosen[t - 1],
            chosen[t - 1],
            {},
            f"digest {chosen[t - 1]}",
            qcid,
            accuracy=accuracy,
            seconds=seconds,
            clock=seconds * t,
            ledger=Ledger(4, 10, 5, 0, 8),
        )
        for t, accuracy in enumerate(accuracies, start=1)
    )
    said = {"scenario": "small", "selector": "random", "seed": 1, "target": 0.8} | settings
    return Run(said, CLIENTS, history, model=None, states={})  # type: ignore[arg-type]


def rows_of(*runs: Run) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    rows = summarise(runs)
    return rows[0], [row for row in rows if row["level"] == "run"]


def test_one_run_by_hand() -> None:
    run = a_run([0.2, None, 0.5, None, 0.9, 0.7, 0.8, 0.6], asked=[[0, 1]] * 4 + [[0, 2]] * 4)
    _, (row,) = rows_of(run)
    # The last five evaluations are 0.5, 0.9, 0.7, 0.8, 0.6.
    assert row["final_accuracy"] == pytest.approx(0.7)
    assert row["best_accuracy"] == 0.9
    assert row["rounds_to_target"] == 5
    assert row["seconds_to_target"] == 10.0
    assert row["mean_qcid"] == 0.25
    # Calls are 8, 4, 4, 0: Jain = 16^2 / (4 (64 + 16 + 16)) = 2/3.
    assert row["jain"] == pytest.approx(2 / 3)
    assert row["simulated_seconds"] == 16.0
    assert row["bytes"] == 8 * 15
    lines = "digest [0, 1]\n" * 4 + "digest [0, 2]\n" * 4
    assert row["digest"] == hashlib.sha256(lines.encode()).hexdigest()


def test_a_method_is_the_mean_over_its_seeds() -> None:
    method, seeds = rows_of(a_run([0.1, 0.9], seed=2), a_run([0.8, 0.7], seed=1))
    assert [row["seed"] for row in seeds] == [1, 2]
    assert [row["rounds_to_target"] for row in seeds] == [1, 2]
    assert method["rounds_to_target"] == 1.5
    assert method["final_accuracy"] == pytest.approx((0.75 + 0.5) / 2)
    # Sample deviation of 0.75 and 0.5: |difference| / sqrt(2).
    assert method["final_accuracy_std"] == pytest.approx(0.25 / 2**0.5)
    assert (method["seeds"], method["reached"]) == (2, 2)


def test_a_target_not_reached_is_none_and_never_dropped() -> None:
    method, seeds = rows_of(a_run([0.1, 0.9], seed=1), a_run([0.1, 0.2], seed=2))
    assert [row["rounds_to_target"] for row in seeds] == [2, None]
    assert method["rounds_to_target"] is None
    assert method["reached"] == 1
    # The second needed at least one round more than its two.
    assert method["rounds_at_least"] == 2.5
    assert method["seconds_to_target"] is None


def test_what_was_not_measured_is_none() -> None:
    method, (row,) = rows_of(a_run([None, None], asked=[[], []], qcid=None, seconds=0.0, target=None))
    for key in ("final_accuracy", "best_accuracy", "rounds_to_target", "mean_qcid", "jain", "simulated_seconds"):
        assert row[key] is None, key
        assert method[key] is None, key
    assert method["final_accuracy_std"] is None


def test_a_run_without_rounds_has_a_row() -> None:
    _, (row,) = rows_of(a_run([]))
    assert row["rounds"] == 0
    assert row["rounds_at_least"] is None
    assert row["digest"] == hashlib.sha256(b"").hexdigest()


def test_rows_are_plain_values() -> None:
    rows = summarise([a_run([0.5, float("nan")]), a_run([0.9], selector="fed-cbs")])
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows


def test_filters_and_averages_set_methods_apart() -> None:
    rows = summarise(
        [
            a_run([0.5]),
            a_run([0.5], filter="fedca"),
            a_run([0.5], scenario="other", average="mean"),
            a_run([0.5], scenario="other", average="weighted"),
        ]
    )
    names = [(row["scenario"], row["method"]) for row in rows if row["level"] == "method"]
    assert names == [
        ("small", "random"),
        ("small", "random + fedca"),
        ("other", "random + mean"),
        ("other", "random + weighted"),
    ]


@pytest.mark.parametrize(
    ("runs", "words"),
    [
        ([], "no runs"),
        ([a_run([0.5]), a_run([0.5])], "seed 1 of random twice"),
        ([a_run([0.5]), a_run([0.5], seed=2, target=0.9)], "different targets"),
    ],
)
def test_runs_that_cannot_be_compared_are_refused(runs: list[Run], words: str) -> None:
    with pytest.raises(InputError, match=words):
        summarise(runs)
