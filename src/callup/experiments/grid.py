"""Runs cells side by side in worker processes; each writes its own directory, so nothing finished is ever lost."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from callup.core.clients import Clients
from callup.core.errors import CallupError
from callup.simulation.recorder import Recorder, Recording, finished
from callup.simulation.run import RoundRecord, Run
from callup.simulation.settings import Settings
from callup.simulation.store import load_run


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


def _work(todo: Any, events: Any, cells: Sequence[Cell], out: Path, how: Recording | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
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
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # spares every worker a pool of threads it must not use
    workers = [context.Process(target=_work, args=(todo, events, cells, out, how), daemon=True) for _ in range(jobs)]
    open_cells = set(range(len(cells)))
    problem: CellFailed | None = None
    try:
        # Workers inherit the blocked signal and so cannot be caught by a Ctrl-C before they have said they ignore it.
        with _ctrl_c_waits():
            for worker in workers:
                worker.start()
        while open_cells:
            try:
                kind, number, what = events.get(timeout=1)
            except queue.Empty:
                if any(worker.exitcode not in (None, 0) for worker in workers):
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
    finally:
        for worker in workers:
            if worker.pid is not None:
                if open_cells:
                    worker.terminate()
                worker.join()
    if problem is not None:
        raise problem


@contextlib.contextmanager
def _ctrl_c_waits() -> Iterator[None]:
    """Ctrl-C pressed inside the block takes effect at its end; where signals cannot be held back it is as ever."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
