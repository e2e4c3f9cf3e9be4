"""Persistent worker processes: each builds a backend once and then does one job after the other."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, NoReturn

import numpy as np

from callup.core.errors import CallupError
from callup.simulation.backends.base import Backend

Job = tuple[str, tuple[Any, ...]]
"""A method of the backend and what follows the model in its arguments."""

_PATIENCE = 2.0  # seconds for workers to end by themselves


class Workers:
    """Jobs go to whoever is free; answers come back in the order of the jobs, so nothing depends on who did what."""

    def __init__(self, number: int, build: Callable[..., Backend], arguments: tuple[Any, ...]) -> None:
        # Spawned, not forked: torch's threads do not survive a fork.
        context = multiprocessing.get_context("spawn")
        self._crew: dict[Connection, BaseProcess] = {}
        try:
            for _ in range(number):
                ours, theirs = context.Pipe()
                process = context.Process(target=_serve, args=(theirs, build, arguments), daemon=True)
                self._crew[ours] = process
                process.start()
                # With our copy of its end closed, a worker that dies is noticed at once.
                theirs.close()
        except BaseException:
            self.close()
            raise

    def run(self, model: np.ndarray, jobs: Sequence[Job]) -> list[Any]:
        """The answers to all jobs about this model."""
        answers: list[Any] = [None] * len(jobs)
        waiting, busy = deque(enumerate(jobs)), dict[Connection, int]()
        free, informed = deque(self._crew), set[Connection]()
        while waiting or busy:
            while waiting and free:
                worker = free.popleft()
                at, job = waiting.popleft()
                self._send(worker, (None if worker in informed else model, job))
                informed.add(worker)
                busy[worker] = at
            heard_from = wait(list(busy))
            for worker in [worker for worker in busy if worker in heard_from]:
                answer = self._hear(worker)
                if isinstance(answer, CallupError):
                    raise answer
                answers[busy.pop(worker)] = answer
                free.append(worker)
        return answers

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
        self._crew = {}

    def _send(self, worker: Connection, message: Any) -> None:
        try:
            worker.send(message)
        except OSError as error:
            raise self._lost(worker) from error

    def _hear(self, worker: Connection) -> Any:
        try:
            return worker.recv()
        except (EOFError, OSError) as error:
            raise self._lost(worker) from error

    def _lost(self, worker: Connection) -> CallupError:
        process = self._crew[worker]
        process.join(_PATIENCE)
        return CallupError(
            f"a worker ended unexpectedly with exit code {process.exitcode}; where memory is short use fewer "
            "workers, and in a script of your own start the run under `if __name__ == '__main__':`"
        )


def _serve(line: Connection, build: Callable[..., Backend], arguments: tuple[Any, ...]) -> None:
    """The life of a worker: it ends when the line does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started us
    backend: Backend | None = None
    model = np.empty(0)
    while True:
        try:
            news, (method, rest) = line.recv()
        except (EOFError, OSError):
            _end()
        model = model if news is None else news
        try:
            backend = backend or build(*arguments)
            answer = getattr(backend, method)(model, *rest)
        except CallupError as error:
            answer = error.with_traceback(None)
        try:
            line.send(answer)
        except OSError:
            _end()


def _end() -> NoReturn:
    """At once: torch takes a second to take itself apart, and there is nothing to keep."""
    sys.stdout.flush()
    os._exit(0)
