"""Runs cells side by side in worker processes; each writes its own directory, so nothing finished is ever lost."""

from __future__ import annotations

import contextlib
import multiprocessing
import queue
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.errors import CallupError
from callup.experiments.nursery import workers
from callup.simulation.recorder import Recorder, Recording, finished
from callup.simulation.run import RoundRecord, Run
from callup.simulation.settings import Settings
from callup.simulation.store import load_run
from callup.simulation.task import TASKS, Mlp


@dataclass(frozen=True)
class Cell:
    """One run of a grid; its name is its folder."""

    name: str
    settings: Settings


class Watcher(Protocol):
    """Sees everything as it happens; called in the parent process."""

    def started(self, cell: Cell, clients: Clients) -> None: ...
    def round(self, cell: Cell, record: RoundRecord) -> None: ...
    def finished(self, cell: Cell) -> None: ...
    def failed(self, cell: Cell, message: str) -> None: ...


class CellFailed(CallupError):
    """A cell of the grid could not be run; the others were. The exit code is that of the cell's own error."""

    def __init__(self, message: str, exit_code: int = CallupError.exit_code) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def run_grid(cells: Sequence[Cell], out: Path, jobs: int, watcher: Watcher, how: Recording | None = None) -> list[Run]:
    """Runs every cell, at most `jobs` at a time, and returns them in the order given.

    A cell whose folder holds a run already is continued, a finished one only read. Ctrl-C ends the workers and is
    raised again; what was done by then is on disk, unfinished runs included.
    """
    if jobs <= 1:
        return [_run(cell, out / cell.name, watcher, how) for cell in cells]
    _run_in_processes(cells, out, min(jobs, len(cells)), watcher, how)
    return [load_run(out / cell.name) for cell in cells]


def _run(cell: Cell, folder: Path, watcher: Watcher, how: Recording | None = None) -> Run:
    if (done := finished(folder, cell.settings)) is not None:
        return _show(cell, done, watcher)
    try:
        recorder = Recorder(cell.settings, folder, how)
    except CallupError as error:
        watcher.failed(cell, str(error))
        raise
    try:
        watcher.started(cell, recorder.clients)
        run = recorder.run(lambda record: watcher.round(cell, record))
        watcher.finished(cell)
        return run if recorder.in_memory else load_run(folder)
    except CallupError as error:
        watcher.failed(cell, str(error))
        raise
    finally:
        recorder.close()


def _show(cell: Cell, run: Run, watcher: Watcher) -> Run:
    watcher.started(cell, run.clients)
    for record in run.history:
        watcher.round(cell, record)
    watcher.finished(cell)
    return run


class _Messenger:
    """A watcher inside a worker: passes on what it sees."""

    def __init__(self, events: Any, number: int) -> None:
        self._events, self._number = events, number

    def started(self, cell: Cell, clients: Clients) -> None:  # noqa: ARG002
        self._events.put(("started", self._number, clients))

    def round(self, cell: Cell, record: RoundRecord) -> None:  # noqa: ARG002
        self._events.put(("round", self._number, record))

    def finished(self, cell: Cell) -> None:  # noqa: ARG002
        self._events.put(("finished", self._number, None))

    def failed(self, cell: Cell, message: str) -> None:
        """Told by `_work`, which knows the exit code too."""


def _load(todo: Any, events: Any, cells: Sequence[Cell], out: Path, how: Recording | None) -> None:  # noqa: ARG001
    """What the cells will ask for. Whatever goes wrong here goes wrong again in a cell, which then tells it."""
    for spec in dict.fromkeys(cell.settings.task for cell in cells):
        with contextlib.suppress(Exception):
            if isinstance(TASKS.make(spec).load().model, Mlp):
                import callup.simulation.backends.batched  # noqa: F401
    for spec in dict.fromkeys(cell.settings.selector for cell in cells):
        with contextlib.suppress(Exception):
            SELECTORS.make(spec)


def _work(todo: Any, events: Any, cells: Sequence[Cell], out: Path, how: Recording | None) -> None:
    while (number := todo.get()) is not None:
        try:
            _run(cells[number], out / cells[number].name, _Messenger(events, number), how)
        except CallupError as error:
            events.put(("failed", number, (str(error), error.exit_code)))
        except Exception as error:
            events.put(("failed", number, (f"{type(error).__name__}: {error}", 1)))


def _run_in_processes(cells: Sequence[Cell], out: Path, jobs: int, watcher: Watcher, how: Recording | None) -> None:
    context = multiprocessing.get_context("spawn")
    todo, events = context.Queue(), context.Queue()
    for number in [*range(len(cells)), *[None] * jobs]:
        todo.put(number)
    open_cells = set(range(len(cells)))
    problem: CellFailed | None = None
    with workers(jobs, _load, _work, (todo, events, cells, out, how)) as processes:
        while open_cells:
            try:
                kind, number, what = events.get(timeout=1)
            except queue.Empty:
                if any(process.exitcode not in (None, 0) for process in processes):
                    raise CellFailed("a worker process died; is there enough memory?") from None
                continue
            cell = cells[number]
            if kind == "started":
                watcher.started(cell, what)
            elif kind == "round":
                watcher.round(cell, what)
            else:
                open_cells.discard(number)
                if kind == "finished":
                    watcher.finished(cell)
                else:
                    message, exit_code = what
                    watcher.failed(cell, message)
                    problem = problem or CellFailed(f"{cell.name}: {message}", exit_code)
    if problem is not None:
        raise problem
