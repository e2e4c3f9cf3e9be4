"""The score of a race in progress, with no word about how it is drawn."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from callup.core.clients import Clients
    from callup.experiments.grid import Cell
    from callup.simulation.run import RoundRecord

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


class Board:
    """Told what happens, knows the score."""

    def __init__(self, cells: Sequence[Cell], clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.began = clock()
        self._first_round: float | None = None
        self.scenes: dict[str, Scene] = {}
        self._lanes: dict[str, Lane] = {}
        self.stage: list[Lane] = []
        """The runs whose clients are shown: one place for each job, handed on when a run ends."""
        for cell in cells:
            settings = cell.settings
            title = settings.scenario or settings.task
            scene = self.scenes.setdefault(title, Scene(title, settings.target))
            lane = self._lanes[cell.name] = Lane(cell)
            scene.rows.setdefault(settings.selector, Row(settings.selector)).lanes.append(lane)

    @property
    def lanes(self) -> list[Lane]:
        return list(self._lanes.values())

    @property
    def ended(self) -> int:
        """Runs that are over."""
        return sum(lane.state in ("finished", "failed") for lane in self.lanes)

    @property
    def current(self) -> Scene:
        """The first scenario that is not over."""
        scenes = list(self.scenes.values())
        return next((scene for scene in scenes if not scene.ended), scenes[-1])

    def lane(self, cell: Cell) -> Lane:
        return self._lanes[cell.name]

    def started(self, cell: Cell, clients: Clients) -> None:
        lane = self.lane(cell)
        lane.state, lane.began = "running", self._clock()
        known = "label_counts" in clients
        lane.classes = clients.all("label_counts").argmax(axis=1) if known else np.zeros(len(clients), np.int64)
        lane.clients, lane.called = clients, np.full(len(clients), NEVER)
        free = next((place for place, other in enumerate(self.stage) if other.state != "running"), None)
        if free is None:
            self.stage.append(lane)
        else:
            self.stage[free] = lane

    def round(self, cell: Cell, record: RoundRecord) -> None:
        lane = self.lane(cell)
        if self._first_round is None:
            self._first_round = self._clock()
        lane.done = record.index
        if lane.clients is not None:
            lane.called[lane.clients.index.rows(np.array(record.asked, np.int64))] = record.index
        if record.accuracy is not None:
            lane.accuracy[record.index] = record.accuracy
            target = cell.settings.target
            if target is not None and lane.reached is None and record.accuracy >= target:
                lane.reached = record.index

    def finished(self, cell: Cell) -> None:
        lane = self.lane(cell)
        lane.state, lane.seconds = "finished", self._clock() - lane.began

    def failed(self, cell: Cell, message: str) -> None:
        lane = self.lane(cell)
        lane.state, lane.message, lane.seconds = "failed", message, self._clock() - lane.began

    @property
    def elapsed(self) -> float:
        return self._clock() - self.began

    @property
    def share(self) -> float:
        """How much of the work is done; a round weighs as much as it has clients to train."""
        total = sum(lane.rounds * lane.cell.settings.k for lane in self.lanes)
        ended = {"finished", "failed"}
        done = sum((lane.rounds if lane.state in ended else lane.done) * lane.cell.settings.k for lane in self.lanes)
        return done / total if total else 1.0

    @property
    def left(self) -> float | None:
        """Seconds to go, from the pace so far; None until there is a pace."""
        if self._first_round is None or self.share < 0.01:
            return None
        return (self._clock() - self._first_round) * (1 - self.share) / self.share
