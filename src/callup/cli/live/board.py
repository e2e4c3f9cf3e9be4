"""The score of a race in progress, with no word about how it is drawn."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from callup.cli.live.lanes import NEVER, Lane, Row, Scene

if TYPE_CHECKING:
    from callup.core.clients import Clients
    from callup.experiments.grid import Cell
    from callup.simulation.run import RoundRecord


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
