"""The same numbers for programs: JSON, and lines for Prometheus."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from callup.dashboard.now import Now


def as_json(one: Now) -> dict[str, Any]:
    return dataclasses.asdict(one)


def as_metrics(one: Now) -> str:
    """Version 0.0.4 of the exposition format."""
    return "".join(_lines(one))


def _lines(one: Now) -> Iterator[str]:
    known: tuple[tuple[str, str, float | None], ...] = (
        ("round", "Rounds that are done.", one.rounds),
        ("rounds_planned", "Rounds that are planned.", one.planned),
        ("accuracy", "Test accuracy when last measured, 0 to 1.", one.accuracy),
        ("asked", "Clients asked in the last round.", one.asked),
        ("used", "Replies used in the last round.", one.used),
        ("never_called_clients", "Clients that were never called.", one.never_called),
        ("calls_jain", "Jain's index of calls, 1 is even.", one.jain),
        ("alerts", "Alerts that stand.", len(one.alerts)),
    )
    for name, said, value in known:
        if value is not None:
            yield f"# HELP callup_{name} {said}\n# TYPE callup_{name} gauge\ncallup_{name} {value:g}\n"
    yield "# HELP callup_failed_total Replies that failed.\n# TYPE callup_failed_total counter\n"
    for reason, count in sorted(one.failed_so_far.items()):
        yield f'callup_failed_total{{reason="{_quoted(reason)}"}} {count}\n'


def _quoted(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
