"""Where a run stands: the numbers that somebody who watches it wants first, and what should worry them."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import dataclass

import numpy as np

from callup.analytics.fairness import jain
from callup.dashboard.live_run import LiveRun
from callup.report.measures import best_accuracy, calls, evaluations
from callup.report.wording import percent, plural, seconds

_DROP = 0.05
_SHORT = 3  # rounds in a row without enough replies
_LITTLE = 10**9  # bytes left on the disk
_SILENT = 60.0


@dataclass(frozen=True)
class Now:
    """None where nothing is known yet."""

    name: str
    rounds: int
    planned: int | None
    state: str
    accuracy: float | None
    best: float | None
    asked: int
    used: int
    failed: dict[str, int]
    """Reasons of the last round."""
    failed_so_far: dict[str, int]
    clock: float
    remaining: float | None
    """Seconds of real time, at the speed seen."""
    clients: int
    never_called: int
    jain: float | None
    most_called: list[tuple[int, int]]
    """Client and calls, the most called first."""
    alerts: list[str]


def now(live: LiveRun) -> Now:
    """As of the last look at the folder."""
    run, history = live.run, live.history
    last = history[-1] if history else None
    counts = calls(run) if run is not None and history else np.zeros(0, np.int64)
    measured = evaluations(run) if run is not None else []
    order = np.argsort(-counts, kind="stable")[:5] if counts.any() else np.empty(0, np.intp)
    left = None if live.planned is None else live.planned - len(history)
    tempo = live.seconds_a_round
    return Now(
        str(live.settings.get("selector", "?")),
        len(history),
        live.planned,
        _state(live),
        measured[-1][1] if measured else None,
        best_accuracy(run) if run is not None else None,
        len(last.asked) if last else 0,
        len(last.used) if last else 0,
        dict(Counter(last.failed.values())) if last else {},
        dict(Counter(reason for record in history for reason in record.failed.values())),
        last.clock if last else 0.0,
        left * tempo if left and tempo is not None else None,
        len(run.clients) if run is not None else 0,
        int((counts == 0).sum()),
        jain(counts) if counts.any() else None,
        [(int(run.clients.ids[row]), int(counts[row])) for row in order] if run is not None else [],
        alerts(live),
    )


def alerts(live: LiveRun) -> list[str]:
    """What should not wait until the run has ended."""
    history, out = live.history, []
    if len(history) >= _SHORT and all(record.abandoned for record in history[-_SHORT:]):
        out.append(f"the last {_SHORT} rounds had too few replies; the model stands still")
    values = [record.accuracy for record in history if record.accuracy is not None]
    if values and max(values) - values[-1] > _DROP:
        out.append(f"accuracy is {100 * (max(values) - values[-1]):.1f} points below its best, {percent(max(values))}")
    if history and len(history[-1].asked) > 1 and len(history[-1].failed) * 2 > len(history[-1].asked):
        out.append(f"{len(history[-1].failed)} of {len(history[-1].asked)} clients failed in the last round")
    free = shutil.disk_usage(live.folder).free
    if free < _LITTLE:
        out.append(f"{free // 10**6} MB are left on the disk of the run")
    return out


def _state(live: LiveRun) -> str:
    if live.finished:
        return "finished"
    quiet = live.quiet_for
    if quiet > max(_SILENT, 10 * (live.seconds_a_round or 0.0)):
        return f"silent for {seconds(quiet)}; if it was stopped: callup resume {live.folder}"
    return "running" if live.history else "starting"


def sentence(one: Now) -> str:
    """In one line."""
    of = "" if one.planned is None else f" of {one.planned}"
    parts = [f"round {one.rounds}{of}", one.state]
    if one.accuracy is not None:
        parts.append(f"accuracy {percent(one.accuracy)}")
    if one.failed:
        parts.append(", ".join(f"{count} {reason}" for reason, count in one.failed.items()))
    if one.remaining:
        parts.append(f"{seconds(one.remaining)} left")
    parts.append(f"{plural(one.never_called, 'client')} never called")
    return " · ".join(parts)
