"""From what the processes told to medians, ratios and a table."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from contestants import CALLUP

Answer = dict[str, Any]
Answers = dict[tuple[str, str, int], list[Answer]]
"""By work, contestant and number of threads: what each process told."""


def median(answers: list[Answer]) -> float:
    return statistics.median(taken for answer in answers for taken in answer["rounds_ms"])


def best_threads(tried: Mapping[int, list[Answer]]) -> int:
    return min(tried, key=lambda threads: median(tried[threads]))


def rows(answers: Answers) -> list[dict[str, Any]]:
    """One for each work and contestant, with its better number of threads."""
    found: dict[tuple[str, str], dict[int, list[Answer]]] = {}
    for (work, name, threads), told in answers.items():
        found.setdefault((work, name), {})[threads] = told
    return [_row(work, name, tried) for (work, name), tried in found.items()]


def _row(work: str, name: str, tried: dict[int, list[Answer]]) -> dict[str, Any]:
    threads = best_threads(tried)
    told = tried[threads]
    return {
        "work": work,
        "name": name,
        "version": told[0]["version"],
        "threads": threads,
        "ms": round(median(told), 2),
        "ms_by_process": [round(median([answer]), 2) for answer in told],
        "ms_by_threads": {str(n): round(median(some), 2) for n, some in tried.items()},
        "start_up_s": round(statistics.median(answer["start_up_s"] for answer in told), 1),
        "loss": told[0]["loss"],
    }


def add_ratios(found: list[dict[str, Any]]) -> None:
    """How many times as long as Callup each takes."""
    ours = {row["work"]: row["ms"] for row in found if row["name"] == CALLUP}
    for row in found:
        row["times_callup"] = round(row["ms"] / ours[row["work"]], 2) if row["work"] in ours else None


def table(result: dict[str, Any]) -> str:
    speeds = result["matmul_gflops"]
    each = ", ".join(f"{speed:.0f} GFLOP/s with threads: {threads}" for threads, speed in speeds.items())
    lines = [f"{result['cores']} cores, {result['processor']}; matmul {each}"]
    for work in dict.fromkeys(row["work"] for row in result["rows"]):
        floor = result["floor_ms"][work]
        lines += ["", f"{work}: the products of a round alone take {floor:.0f} ms at the machine's matmul speed"]
        lines += [f"  {'ms a round':>10} {'x Callup':>8} {'threads':>7} {'start-up':>8}  {'loss':<15}"]
        for row in result["rows"]:
            if row["work"] == work:
                ratio = "-" if row["times_callup"] is None else f"{row['times_callup']:.2f}"
                loss = "{:.2f} -> {:.2f}".format(*row["loss"])
                lines.append(
                    f"  {row['ms']:10.1f} {ratio:>8} {row['threads']:7} {row['start_up_s']:6.1f} s  {loss:<15} "
                    f"{row['name']} ({row['version']})"
                )
    return "\n".join([*lines, "", *(f"{name} {reason}" for name, reason in result["failed"].items())])
