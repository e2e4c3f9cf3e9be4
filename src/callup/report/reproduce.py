"""How to get the same numbers again: command, settings, seeds, versions and selection digests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from callup.report.grouping import Scenario
from callup.report.tables import Row


@dataclass(frozen=True)
class Reproduce:
    """Plain text only."""

    command: str
    seeds: str
    versions: list[tuple[str, str]]
    digests: list[Row]


def reproduce(found: Sequence[Scenario], rows: Sequence[Row], command: str) -> Reproduce:
    """The command given, or the one the runs remember."""
    runs = [run for scenario in found for run in scenario.runs]
    known = command or next((str(r.settings["command"]) for r in runs if r.settings.get("command")), "")
    seeds = sorted({seed for scenario in found for method in scenario.methods for seed in method.seeds})
    versions: dict[str, str] = {}
    for run in runs:
        given = run.settings.get("versions")
        for name, version in given.items() if isinstance(given, Mapping) else ():
            # Runs made with different versions are no accident to hide: both are shown.
            seen = versions.get(str(name))
            versions[str(name)] = str(version) if seen in (None, str(version)) else f"{seen}, {version}"
    return Reproduce(
        known,
        ", ".join(map(str, seeds)),
        sorted(versions.items()),
        [row for row in rows if row["level"] == "run"],
    )


def facts(scenario: Scenario) -> list[tuple[str, str]]:
    """The settings all runs of a scenario share, in words."""
    shown: list[tuple[str, str]] = [("clients", str(len(scenario.runs[0].clients)))]
    for key, usual in _SHOWN.items():
        values = list(dict.fromkeys(_plain(run.settings.get(key)) for run in scenario.runs))
        if any(value not in ("", usual) for value in values):
            shown.append((_WORDS.get(key, key), " / ".join(value or "none" for value in values)))
    if scenario.rare_classes:
        shown.append(("rare classes", ", ".join(map(str, scenario.rare_classes))))
    return shown


# Each with the value that goes without saying.
_SHOWN = {
    "k": "",
    "rounds": "",
    "task": "",
    "partition": "",
    "availability": "",
    "latency": "",
    "overcommit": "1.0",
    "deadline": "",
    "quorum": "0.0",
    "lost": "0.0",
    "privacy": "plain",
    "faults": "",
    "average": "",
    "filter": "",
    "backend": "",
}
_WORDS = {"k": "called each round (k)", "lost": "chance of no reply"}


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {item}" for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)
