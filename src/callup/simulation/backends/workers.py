"""Persistent worker processes: each builds a backend once and then does one job after the other."""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from types import ModuleType
from typing import Any, cast

import numpy as np

from callup.core.errors import CallupError
from callup.simulation.backends.base import Backend
from callup.simulation.backends.serving import serve
from callup.simulation.backends.tray import Tray

Job = tuple[str, tuple[Any, ...]]
"""A method of the backend and what follows the model in its arguments."""

Take = Callable[[int, Any], None]
"""Is given the number of a job and its answer, whose arrays are gone after the call."""

_PATIENCE = 2.0  # seconds for workers to end by themselves


class Workers:
    """Jobs go to whoever is free; each answer comes with the number of its job, so nothing depends on who did what.

    A process that is spawned reads the script again that the program began with, which a script without
    `if __name__ == "__main__":` does not survive. Most workers need nothing of it and leave it alone; one that does is
    refused where it was started without being asked for, with `needs_no_script`.
    """

    def __init__(
        self,
        number: int,
        build: Callable[..., Backend],
        arguments: tuple[Any, ...],
        all_prepared: Callable[[], None],
        needs_no_script: bool = False,
    ) -> None:
        self._all_prepared = all_prepared
        # Spawned, not forked: torch's threads do not survive a fork.
        context = multiprocessing.get_context("spawn")
        needs_script = b"__main__" in bytes(ForkingPickler.dumps((build, arguments)))
        if needs_script and needs_no_script:
            raise CallupError("workers would need the script that the program began with")
        self._crew: dict[Connection, BaseProcess] = {}
        self._trays: dict[Connection, Tray] = {}
        self._preparing: set[Connection] = set()
        try:
            with nullcontext() if needs_script else _script_out_of_sight():
                for _ in range(number):
                    ours, theirs = context.Pipe()
                    self._trays[ours] = tray = Tray()
                    process = context.Process(target=serve, args=(theirs, tray.name, build, arguments), daemon=True)
                    self._crew[ours] = process
                    process.start()
                    # With our copy of its end closed, a worker that dies is noticed at once.
                    theirs.close()
                    self._preparing.add(ours)
        except BaseException:
            self.close()
            raise

    def ready(self) -> bool:
        """Whether all have built their backend; does not wait for them."""
        for worker in wait(list(self._preparing), timeout=0):
            self._prepared(cast(Connection, worker))
        return not self._preparing

    def run(self, model: np.ndarray, jobs: Sequence[Job], take: Take) -> None:
        """Does all jobs about this model."""
        waiting, busy = deque(enumerate(jobs)), dict[Connection, int]()
        free, informed = deque(worker for worker in self._crew if worker not in self._preparing), set[Connection]()
        while waiting or busy:
            while waiting and free:
                worker = free.popleft()
                at, job = waiting.popleft()
                self._send(worker, (None if worker in informed else self._trays[worker].lay(model), job))
                informed.add(worker)
                busy[worker] = at
            heard_from = wait([*busy, *(self._preparing if waiting else ())])
            for worker in [worker for worker in self._crew if worker in heard_from]:
                if worker in self._preparing:
                    self._prepared(worker)
                else:
                    take(busy.pop(worker), self._hear(worker))
                free.append(worker)

    def _prepared(self, worker: Connection) -> None:
        self._hear(worker)
        self._trays[worker].forget_name()
        self._preparing.discard(worker)
        if not self._preparing:
            self._all_prepared()

    def close(self) -> None:
        """Asks every worker to end, and ends those that do not."""
        for worker in self._crew:
            worker.close()  # to a worker that waits for a job, the end of the line is the end of its work
        deadline = time.monotonic() + _PATIENCE
        for process in self._crew.values():
            if process.pid is not None:
                process.join(max(deadline - time.monotonic(), 0))
                if process.is_alive():
                    process.kill()
                    process.join()
                process.close()
        for tray in self._trays.values():
            tray.close()
        self._crew, self._trays, self._preparing = {}, {}, set()

    def _send(self, worker: Connection, message: Any) -> None:
        try:
            worker.send(message)
        except OSError as error:
            raise self._lost(worker) from error

    def _hear(self, worker: Connection) -> Any:
        try:
            answer = worker.recv()
        except (EOFError, OSError) as error:
            raise self._lost(worker) from error
        if isinstance(answer, CallupError):
            raise answer
        return self._trays[worker].lift(answer)

    def _lost(self, worker: Connection) -> CallupError:
        process = self._crew[worker]
        process.join(_PATIENCE)
        return CallupError(
            f"a worker ended unexpectedly with exit code {process.exitcode}; where memory is short use fewer "
            "workers, and in a script of your own start the run under `if __name__ == '__main__':`"
        )


@contextmanager
def _script_out_of_sight() -> Iterator[None]:
    """Processes started inside the block do not know of any script."""
    script = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script
