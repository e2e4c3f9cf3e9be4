"""What the guard costs where everybody is honest, from stored runs: paired differences, intervals, and the goals."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from intervals import Interval, interval

GOALS = {"accuracy": 1.0, "rounds": 10.0, "recall": 2.0}
"""The most that may be lost: points of accuracy, per cent of rounds, points of recall."""
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Loss:
    """Of one measure in one case, in the unit of its goal; positive is a loss."""

    off: float
    on: float
    loss: Interval
    goal: float

    @property
    def met(self) -> bool:
        return self.loss.mean <= self.goal

    @property
    def shown(self) -> bool:
        """Whether the whole interval is within the goal."""
        return self.loss.high <= self.goal

    @property
    def refuted(self) -> bool:
        """Whether the whole interval is beyond it."""
        return self.loss.low > self.goal


@dataclass(frozen=True)
class Case:
    """One method in one scenario."""

    place: str
    method: str
    seeds: int
    losses: dict[str, Loss]


def cases(rows: Rows) -> list[Case]:
    """In the order of the stored runs; seeds that have both, with and without the guard."""
    out = []
    for place, method in dict.fromkeys((row["place"], row["method"]) for row in rows):
        runs = {(r["guard"], r["seed"]): r for r in rows if (r["place"], r["method"]) == (place, method)}
        seeds = sorted(seed for guard, seed in runs if guard == "off" and ("on", seed) in runs)
        if not seeds:
            continue
        losses = {}
        for name in GOALS:
            off, on = ([runs[guard, seed][name] for seed in seeds] for guard in ("off", "on"))
            if None not in off:
                losses[name] = _MEASURES[name](off, on)
        out.append(Case(place, method, len(seeds), losses))
    return out


def together(rows: Rows) -> Interval:
    """More rounds to the target in per cent, all methods and scenarios together: one figure for each seed."""
    by_seed = []
    for seed in sorted({row["seed"] for row in rows}):
        mine = [row for row in rows if row["seed"] == seed]
        off, on = ([row["rounds"] for row in mine if row["guard"] == guard] for guard in ("off", "on"))
        if len(off) == len(on):
            by_seed.append(100 * (sum(on) / sum(off) - 1))
    return interval(by_seed)


def _points(name: str) -> Callable[[list[float], list[float]], Loss]:
    def measured(off: list[float], on: list[float]) -> Loss:
        gaps = [100 * (a - b) for a, b in zip(off, on, strict=True)]
        return Loss(100 * statistics.mean(off), 100 * statistics.mean(on), interval(gaps), GOALS[name])

    return measured


def _more_rounds(off: list[float], on: list[float]) -> Loss:
    """The mean difference, in per cent of the mean without the guard."""
    usual = statistics.mean(off)
    gaps = interval([b - a for a, b in zip(off, on, strict=True)])
    return Loss(usual, statistics.mean(on), gaps.times(100 / usual), GOALS["rounds"])


_MEASURES = {"accuracy": _points("accuracy"), "rounds": _more_rounds, "recall": _points("recall")}
