"""Runs cells in worker processes; what is done is handed back at once, and workers never outlive their parent."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool

from callup.core.errors import CallupError
from callup.experiments.metrics import Series, series
from callup.experiments.reproduce.cells import Cell
from callup.experiments.reproduce.store import Done
from callup.experiments.reproduce.studies import STUDIES


def work(cells: Sequence[Cell], jobs: int) -> Iterator[tuple[Cell, Done | CallupError]]:
    """Every cell as it finishes, or the user's mistake that stopped it; anything else is raised."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # spares every worker a pool of threads it must not use
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    pool = concurrent.futures.ProcessPoolExecutor(
        max(1, min(jobs, len(cells))), multiprocessing.get_context("spawn"), initializer=_begin
    )
    try:
        waiting = {pool.submit(run_cell, cell): cell for cell in cells}
        for future in concurrent.futures.as_completed(waiting):
            try:
                yield waiting[future], future.result()
            except BrokenProcessPool as error:
                raise CallupError("a worker process died; is there enough memory? try fewer --jobs") from error
            except CallupError as error:
                yield waiting[future], error
    finally:
        for process in list((pool._processes or {}).values()):
            process.terminate()
        pool.shutdown(wait=True, cancel_futures=True)


def run_cell(cell: Cell) -> Done:
    """One cell, from its settings to its curve."""
    began = time.process_time()
    values: dict[str, float] = {}
    if cell.kind in STUDIES:
        values, found = STUDIES[cell.kind](cell.settings), Series(cell.settings.rounds)
    elif cell.kind == "picks":
        from callup.simulation.picks import play_picks

        found = series(play_picks(**cell.identity))
    elif cell.kind == "match":
        from callup.experiments.tournament.match import play_match

        found, values = play_match(cell.settings)
    else:
        from callup.simulation.engine import Engine

        engine = Engine(cell.settings)
        try:
            found = series(engine.run())
        finally:
            engine.close()
    return Done(found, time.process_time() - began, values)


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    threading.Thread(target=_follow_the_parent, daemon=True).start()


def _follow_the_parent() -> None:
    """A parent that was killed cannot tell its workers; they end with it, so that a restart finds the machine free."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)
