"""How far a grid is and how long it will still take."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from callup.experiments.reproduce.cells import Cell, cells
from callup.experiments.reproduce.store import Results
from callup.experiments.reproduce.tables import Table


def open_cells(tables: Iterable[Table], scale: str, results: Callable[[str], Results]) -> list[tuple[Table, Cell]]:
    """What is still to be run, each cell once, with the table whose file it goes to."""
    seen: set[tuple[str, str]] = set()
    todo: list[tuple[Table, Cell]] = []
    for table in tables:
        for cell in results(table.paper).missing(cells(table, table.scale(scale))):
            if (table.paper, cell.key) not in seen:
                seen.add((table.paper, cell.key))
                todo.append((table, cell))
    return todo


def estimate(todo: Sequence[Cell], jobs: int) -> float:
    """Seconds on this many cores; the longest cell is the least there is."""
    return max([sum(cell.seconds for cell in todo) / max(jobs, 1), *(cell.seconds for cell in todo)], default=0.0)


def duration(seconds: float) -> str:
    """In the largest unit that leaves a whole number."""
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(seconds, 1):.0f} seconds"


class Clock:
    """The time left: what the cells that are left were expected to take, stretched as those that are done were."""

    def __init__(self, todo: Sequence[Cell], jobs: int) -> None:
        self._left = sum(cell.seconds for cell in todo)
        self._done, self.finished, self.total = 0.0, 0, len(todo)
        self._jobs, self._began = max(jobs, 1), time.monotonic()

    def tick(self, cell: Cell) -> None:
        self.finished += 1
        self._left -= cell.seconds
        self._done += cell.seconds

    def left(self) -> float:
        pace = (time.monotonic() - self._began) / self._done if self._done else 1 / self._jobs
        return max(self._left, 0.0) * pace
