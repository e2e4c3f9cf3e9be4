"""Contestants timed in turn, again and again, in one process: a busy machine slows all of them alike.

Results go to benchmarks/results, or, if it was a trial or the machine was busy, to .bench, where they do no harm.
"""

from __future__ import annotations

import datetime
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE / "peers"))  # where the machine is looked at

Times = dict[str, list[tuple[float, float]]]
"""By contestant: seconds that passed, and seconds of processor time of this process alone."""


def play(contestants: dict[str, Callable[[], object]], repeats: int, patience: float) -> Times:
    """Everyone once to warm up, then so many times, or until one has taken `patience` seconds."""
    for work in contestants.values():
        work()
    times: Times = {name: [] for name in contestants}
    for _ in range(repeats):
        for name, work in contestants.items():
            # On a busy machine two torch threads wait for each other, and a round can take a hundred times as long.
            if sum(passed for passed, _ in times[name]) < patience:
                times[name].append(timed(work))
    return times


def timed(work: Callable[[], object]) -> tuple[float, float]:
    start, used = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - used


def matmul_speed() -> float:
    """Billions of multiplications and additions a second: numpy, one thread."""
    square = np.ones((1024, 1024), np.float32)
    with threadpool_limits(1):
        return 2 * 1024**3 / min(timed(lambda: square @ square)[0] for _ in range(5)) / 1e9


def summary(times: Times) -> list[dict[str, Any]]:
    """One for each contestant: median and best, in milliseconds, and the median of processor time."""
    return [
        {
            "name": name,
            "ms": round(1e3 * statistics.median(passed for passed, _ in taken), 2),
            "best_ms": round(1e3 * min(passed for passed, _ in taken), 2),
            "processor_ms": round(1e3 * statistics.median(used for _, used in taken), 2),
            "repeats": len(taken),
        }
        for name, taken in times.items()
    ]


def best(found: list[dict[str, Any]], start: str) -> float:
    """The least median of those whose name starts so."""
    return min(row["ms"] for row in found if row["name"].startswith(start))


def ratio(what: str, slow: float, fast: float, aim: float | None = None) -> dict[str, Any]:
    return {"what": what, "times": round(slow / fast, 2), "aim": aim}


def noise() -> list[str]:
    """A flaw, if others use the machine too."""
    from machine import QUIET, least_busy_share

    busy = least_busy_share()
    return [f"others used {busy:.0%} of the cores"] if busy > QUIET else []


def keep(name: str, result: dict[str, Any], *flaws: str) -> None:
    """Prints and stores a result with `work`, `floor_ms`, `rows` and `ratios`."""
    from machine import describe

    found = {"flaws": [*flaws, *noise()], "date": datetime.date.today().isoformat(), **describe(), **result}
    for row in found["rows"]:
        print(f"{row['ms']:9.1f} ms {row['best_ms']:9.1f} ms {row['processor_ms']:9.1f} ms  {row['name']}")
    for each in found["ratios"]:
        print(f"{each['what']}: {each['times']:.1f}x" + (f", aim {each['aim']:g}x" if each["aim"] else ""))
    store(name, found, trial=bool(flaws))


def store(name: str, found: dict[str, Any], trial: bool) -> None:
    """A clean result is never replaced by a flawed one."""
    path = HERE / "results" / f"{name}.json"
    clean = path.exists() and not json.loads(path.read_text()).get("flaws")
    if trial or (found["flaws"] and clean):
        path = HERE.parent / ".bench" / path.name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(found, indent=1) + "\n")
    print(": ".join([f"kept in {path.relative_to(HERE.parent)}", *found["flaws"]]))
