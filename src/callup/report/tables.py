"""The summary as plain rows, for JSON, CSV and the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from callup.report import measures
from callup.report.grouping import Method, Scenario, scenarios, seed_of
from callup.simulation.run import Run

Row = dict[str, Any]


def summarise(runs: Sequence[Run]) -> list[Row]:
    """One row for each method (`level` "method"), followed by one for each of its seeds (`level` "run").

    `rounds_to_target` is None when the target was not reached; for a method, when not every seed reached it.
    `rounds_at_least` then holds what is known: the mean with each such seed counted as one more than its last
    evaluated round.
    """
    return [row for scenario in scenarios(runs) for method in scenario.methods for row in _rows(scenario, method)]


def _rows(scenario: Scenario, method: Method) -> list[Row]:
    seeds = [_run_row(scenario, method, run) for run in method.runs]
    return [_method_row(scenario, method, seeds), *seeds]


def _run_row(scenario: Scenario, method: Method, run: Run) -> Row:
    target = scenario.target
    hit = measures.reached(run, target)
    last = measures.last_evaluated(run)
    return {
        "level": "run",
        "scenario": scenario.title,
        "method": method.name,
        "seed": seed_of(run),
        "rounds": len(run.history),
        "final_accuracy": measures.final_accuracy(run),
        "best_accuracy": measures.best_accuracy(run),
        "target": target,
        "rounds_to_target": hit.index if hit else None,
        "rounds_at_least": None if target is None or last is None else hit.index if hit else last.index + 1,
        "seconds_to_target": hit.clock if hit and measures.simulated_seconds(run) else None,
        "mean_qcid": measures.mean_qcid(run),
        "jain": measures.jain(run),
        "simulated_seconds": measures.simulated_seconds(run),
        "bytes": measures.bytes_sent(run),
        "digest": measures.run_digest(run),
    }


def _method_row(scenario: Scenario, method: Method, seeds: list[Row]) -> Row:
    def mean(key: str) -> float | None:
        return measures.mean(row[key] for row in seeds)

    hits = sum(row["rounds_to_target"] is not None for row in seeds)
    everywhere = hits == len(seeds)
    return {
        "level": "method",
        "scenario": scenario.title,
        "method": method.name,
        "seeds": len(seeds),
        "rounds": max(row["rounds"] for row in seeds),
        "final_accuracy": mean("final_accuracy"),
        "final_accuracy_std": measures.deviation(row["final_accuracy"] for row in seeds),
        "best_accuracy": mean("best_accuracy"),
        "target": scenario.target,
        "reached": hits,
        "rounds_to_target": mean("rounds_to_target") if everywhere else None,
        "rounds_at_least": mean("rounds_at_least"),
        "seconds_to_target": mean("seconds_to_target") if everywhere else None,
        "mean_qcid": mean("mean_qcid"),
        "jain": mean("jain"),
        "simulated_seconds": mean("simulated_seconds"),
        "bytes": mean("bytes"),
    }
