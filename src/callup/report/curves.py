"""A value over rounds, gathered over the seeds of each method."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from callup.report.grouping import Method
from callup.report.styles import Style
from callup.simulation.run import RoundRecord

LEAST, MOST, ALL = 60, 200, 1600
"""Points drawn in one line, and about how many in one picture: more cannot be seen and only make the page heavy."""


@dataclass(frozen=True)
class Curve:
    """Mean, lowest and highest over seeds, for the rounds in which the value was measured."""

    method: int
    """Position in the scenario; the buttons that hide and show methods go by it."""
    name: str
    style: Style
    rounds: tuple[int, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    seeds: int
    thinned: bool


def curves(
    methods: Sequence[Method], looks: Sequence[Style], read: Callable[[RoundRecord], float | None]
) -> list[Curve]:
    """One curve for each method for which anything was measured."""
    most = min(MOST, max(LEAST, ALL // len(methods)))
    every = (_curve(i, method, look, read, most) for i, (method, look) in enumerate(zip(methods, looks, strict=True)))
    return [curve for curve in every if curve.rounds]


def _curve(i: int, method: Method, look: Style, read: Callable[[RoundRecord], float | None], most: int) -> Curve:
    measured: dict[int, list[float]] = {}
    for run in method.runs:
        for record in run.history:
            value = read(record)
            if value is not None and math.isfinite(value):
                measured.setdefault(record.index, []).append(value)
    rounds = sorted(measured)
    kept = [rounds[j] for j in np.unique(np.linspace(0, len(rounds) - 1, most).round().astype(int))] if rounds else []
    return Curve(
        i,
        method.name,
        look,
        tuple(kept),
        tuple(float(np.mean(measured[r])) for r in kept),
        tuple(min(measured[r]) for r in kept),
        tuple(max(measured[r]) for r in kept),
        len(method.runs),
        len(kept) < len(rounds),
    )


def recall_of(classes: Sequence[int]) -> Callable[[RoundRecord], float | None]:
    """The mean recall over these classes, where any of them was measured."""

    def read(record: RoundRecord) -> float | None:
        recall = record.recall or []
        found = [recall[c] for c in classes if c < len(recall)]
        known = [value for value in found if value is not None and math.isfinite(value)]
        return float(np.mean(known)) if known else None

    return read
