"""What the guard promised and did: who was set aside, when, on what evidence, and when it was let back in."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from callup.report.grouping import Scenario, seed_of
from callup.report.wording import number, plural
from callup.simulation.run import Run

_LINE = re.compile(r"round (\d+): client (-?\d+) (.+)", re.DOTALL)
_UNTIL = re.compile(r"(?:is not called before|was set aside by the operator until) round (\d+)$")
_RELEASED = "may be called again"
_MOST_ROWS = 12
_MOST_REASONS = 3


@dataclass
class Stay:
    """One time that one client was set aside."""

    client: int
    since: int
    until: int
    """The round in which the sentence ends."""
    evidence: list[str]
    """What was held against it before, a line for each round."""
    by_hand: bool = False
    released: int | None = None

    @property
    def end(self) -> str:
        if self.released is not None:
            return f"released in round {self.released}"
        return f"until round {self.until}"


@dataclass
class Watched:
    """One run under guard."""

    method: int
    name: str
    seed: int
    promise: str
    did: str
    stays: list[Stay] = field(default_factory=list)
    left_off: int = 0
    """Stays that the page has no room for."""


def watched(scenario: Scenario) -> list[Watched]:
    """One entry for each run that had a guard, in the order of methods and seeds."""
    return [
        _watched(row, method.name, run)
        for row, method in enumerate(scenario.methods)
        for run in method.runs
        if run.history and any(record.guard for record in run.history)
    ]


def _watched(method: int, name: str, run: Run) -> Watched:
    lines = [line for record in run.history for line in record.guard]
    promise = next((line for line in lines if line.startswith("guard on: ")), "guard on").removeprefix("guard on: ")
    stays = _stays(lines)
    refused = sum(reason.startswith("guard") for record in run.history for reason in record.failed.values())
    away = len({stay.client for stay in stays})
    did = f"{number(refused)} {'reply' if refused == 1 else 'replies'} refused, {plural(away, 'client')} set aside"
    return Watched(method, name, seed_of(run), promise, did, stays[:_MOST_ROWS], max(0, len(stays) - _MOST_ROWS))


def _stays(lines: list[str]) -> list[Stay]:
    """In the order in which they began; what is said of a client between two stays is the evidence for the second."""
    held: dict[int, dict[int, list[str]]] = {}
    last: dict[int, Stay] = {}
    found: list[Stay] = []
    for line in lines:
        told = _LINE.fullmatch(line)
        if told is None:
            continue
        index, client, what = int(told[1]), int(told[2]), told[3]
        until = _UNTIL.search(what)
        if until:
            reasons = [f"round {when}: {'; '.join(said)}" for when, said in held.pop(client, {}).items()]
            before = ["had been set aside before"] if client in last and reasons else []
            stay = Stay(client, index, int(until[1]), before + reasons[-_MOST_REASONS:], by_hand="operator" in what)
            last[client] = stay
            found.append(stay)
        elif what == _RELEASED:
            if client in last:
                last[client].released = index
        else:
            held.setdefault(client, {}).setdefault(index, []).append(what)
    return found
