"""What is known of each run, method and scenario while they race."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from callup.core.clients import Clients
    from callup.experiments.grid import Cell

NEVER = -1
"""In place of the round in which a client was last called."""


@dataclass
class Lane:
    """One run: how far it is, how good, and whom it called last."""

    cell: Cell
    done: int = 0
    accuracy: dict[int, float] = field(default_factory=dict)
    reached: int | None = None
    state: str = "waiting"
    classes: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    """The class each client holds most of, in the order of ids."""
    called: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    """The round in which each client was last called, in the same order."""
    clients: Clients | None = None
    began: float = 0.0
    seconds: float = 0.0
    message: str = ""

    @property
    def rounds(self) -> int:
        return self.cell.settings.rounds

    @property
    def final(self) -> float | None:
        return self.accuracy[max(self.accuracy)] if self.accuracy else None


@dataclass
class Row:
    """One method: its runs, a lane for each seed."""

    name: str
    lanes: list[Lane] = field(default_factory=list)

    @property
    def done(self) -> int:
        return sum(lane.done for lane in self.lanes)

    @property
    def rounds(self) -> int:
        return sum(lane.rounds for lane in self.lanes)

    @property
    def curve(self) -> list[float]:
        """Accuracy at each evaluated round, the mean over the seeds that got there."""
        at: dict[int, list[float]] = {}
        for lane in self.lanes:
            for index, value in lane.accuracy.items():
                at.setdefault(index, []).append(value)
        return [sum(at[index]) / len(at[index]) for index in sorted(at)]

    @property
    def to_target(self) -> float | None:
        """Mean rounds to the target; None while no seed is there or once a seed has ended without."""
        if any(lane.state == "finished" and lane.reached is None for lane in self.lanes):
            return None
        hits = [lane.reached for lane in self.lanes if lane.reached is not None]
        return sum(hits) / len(hits) if hits else None

    @property
    def running(self) -> bool:
        return any(lane.state == "running" for lane in self.lanes)

    @property
    def ended(self) -> bool:
        return all(lane.state in ("finished", "failed") for lane in self.lanes)


@dataclass
class Scene:
    """One scenario: the methods that race in it."""

    title: str
    target: float | None
    rows: dict[str, Row] = field(default_factory=dict)

    @property
    def lanes(self) -> list[Lane]:
        return [lane for row in self.rows.values() for lane in row.lanes]

    @property
    def ended(self) -> bool:
        return all(row.ended for row in self.rows.values())

    @property
    def leader(self) -> Row | None:
        """Fewest rounds to the target; while nobody is there, the highest accuracy so far."""
        there = [row for row in self.rows.values() if row.to_target is not None]
        if there:
            return min(there, key=lambda row: (row.to_target or 0.0, -row.curve[-1]))
        measured = [row for row in self.rows.values() if row.curve]
        return max(measured, key=lambda row: row.curve[-1], default=None)
