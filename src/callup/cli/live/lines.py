"""Progress for logs and pipes: a line for each finished run, and one now and then while a run is long."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from callup.cli.live.board import Board
from callup.cli.live.lanes import Lane
from callup.cli.live.wording import clock, percent
from callup.cli.terminal import clean, say

if TYPE_CHECKING:
    from callup.core.clients import Clients
    from callup.experiments.grid import Cell
    from callup.simulation.run import RoundRecord

INTERVAL = 10.0
"""Seconds without a line after which one is due."""


class Lines:
    """A watcher that writes plain lines."""

    def __init__(self, board: Board, now: Callable[[], float] = time.monotonic) -> None:
        self.board, self._now = board, now
        self._last = now()

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None: ...

    def started(self, cell: Cell, clients: Clients) -> None:
        self.board.started(cell, clients)

    def round(self, cell: Cell, record: RoundRecord) -> None:
        self.board.round(cell, record)
        if self._now() - self._last >= INTERVAL:
            left = self.board.left
            eta = "" if left is None else f", about {clock(left)} left"
            self._say(f"{100 * self.board.share:.0f} % done, {clock(self.board.elapsed)} gone{eta}")

    def finished(self, cell: Cell) -> None:
        self.board.finished(cell)
        lane = self.board.lane(cell)
        self._say(f"{self._count()} {self._name(lane)}: {percent(lane.final)}{_target(lane)}, {lane.seconds:.1f} s")

    def failed(self, cell: Cell, message: str) -> None:
        self.board.failed(cell, message)
        if len(self.board.lanes) > 1:  # of a single run the error itself says as much
            self._say(f"{self._count()} {self._name(self.board.lane(cell))} failed: {message}")

    def _count(self) -> str:
        total = len(self.board.lanes)
        return f"[{self.board.ended:>{len(str(total))}}/{total}]"

    def _name(self, lane: Lane) -> str:
        settings = lane.cell.settings
        scene = f"{settings.scenario.partition(':')[0]}, " if len(self.board.scenes) > 1 else ""
        return f"{scene}{settings.selector}, seed {settings.seed}"

    def _say(self, line: str) -> None:
        say(clean(line))
        self._last = self._now()


def _target(lane: Lane) -> str:
    target = lane.cell.settings.target
    if target is None:
        return ""
    if lane.reached is None:
        return f", {100 * target:.3g} % not reached"
    return f", {100 * target:.3g} % in {lane.reached} rounds"
