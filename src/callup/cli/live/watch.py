"""Picks how progress is shown, and keeps the picture moving."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING

from rich.console import Console, RenderableType
from rich.live import Live

from callup.cli.live.board import Board
from callup.cli.live.lines import Lines
from callup.cli.live.scenes import picture
from callup.cli.terminal import is_terminal, notices

if TYPE_CHECKING:
    from callup.core.clients import Clients
    from callup.experiments.grid import Cell
    from callup.simulation.run import RoundRecord

PER_SECOND = 6
"""Redraws: enough to look alive, few enough to cost nothing."""


class Screen:
    """A watcher that redraws the board in place; it is wiped away at the end, when the results are printed."""

    def __init__(self, board: Board, console: Console) -> None:
        self.board, self._console = board, console
        self._lock = Lock()  # the picture is drawn by a thread of its own
        self._live = Live(
            console=console,
            get_renderable=self._draw,
            refresh_per_second=PER_SECOND,
            transient=True,
            redirect_stdout=False,
        )

    def __enter__(self) -> Screen:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def _draw(self) -> RenderableType:
        with self._lock:
            return picture(self.board, self._console.width, self._console.height)

    def started(self, cell: Cell, clients: Clients) -> None:
        with self._lock:
            self.board.started(cell, clients)

    def round(self, cell: Cell, record: RoundRecord) -> None:
        with self._lock:
            self.board.round(cell, record)

    def finished(self, cell: Cell) -> None:
        with self._lock:
            self.board.finished(cell)

    def failed(self, cell: Cell, message: str) -> None:
        with self._lock:
            self.board.failed(cell, message)


def watching(cells: Sequence[Cell]) -> Screen | Lines:
    """A picture where stderr is a terminal, plain lines where it is not."""
    board = Board(cells)
    return Screen(board, notices()) if is_terminal(sys.stderr) else Lines(board)
