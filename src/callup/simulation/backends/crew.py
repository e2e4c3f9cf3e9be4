"""Jobs done in this process or in worker processes, which are hired when that pays and given back whatever happens."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from callup.core.errors import CallupError
from callup.simulation.backends.base import Backend
from callup.simulation.backends.cores import Wanted, hands
from callup.simulation.backends.shared_data import SharedData
from callup.simulation.backends.workers import Job, Take, Workers
from callup.simulation.task import Data

_LEAST = 0.005  # seconds: jobs that together take less are not worth being sent


class Crew:
    """A number of workers starts with the first jobs, and jobs wait for them.

    With `auto` they start after `patience` seconds of jobs that could have been shared, and this process goes on alone
    until they are ready, so that a short run never waits; where they cannot be had, it stays alone.
    """

    def __init__(self, workers: Wanted, patience: float, build: Callable[..., Backend], data: Data, *rest: Any) -> None:
        self.number = hands(workers)
        self._auto, self._patience = workers == "auto", patience
        self._build, self._data, self._rest = build, data, rest
        self._widest = 1  # how many jobs there were at once: more workers than that have nothing to do
        self._hired: _Hired | None = None

    def run(self, here: Any, model: np.ndarray, jobs: Sequence[Job], take: Take) -> None:
        """Does all jobs about this model; `here` does those that are not sent."""
        try:
            if len(jobs) > 1 and self._is_there(len(jobs)):
                self._send(here, model, jobs, take)
                return
            began = time.perf_counter()
            _do(here, model, jobs, take)
        except BaseException:
            self.close()  # answers to other jobs may still be on their way, and nobody will hear them
            raise
        took = time.perf_counter() - began
        if len(jobs) > 1 and took > _LEAST:
            self._patience -= took

    def arrays(self, here: Any, model: np.ndarray, jobs: Sequence[Job]) -> np.ndarray:
        """The answers of jobs that answer with an array, one after the other in one."""
        parts: list[np.ndarray] = [np.empty(0)] * len(jobs)

        def keep(at: int, answer: np.ndarray) -> None:
            parts[at] = answer.copy()

        self.run(here, model, jobs, keep)
        return np.concatenate(parts)

    def _send(self, here: Any, model: np.ndarray, jobs: Sequence[Job], take: Take) -> None:
        if self._hired is None:
            self._hired = _Hired(self.number, self._build, self._data, *self._rest, alone=False)
        try:
            self._hired.workers.run(model, jobs, take)
        except CallupError:
            if not self._auto:
                raise
            # Nobody asked for workers: if one of them is what failed, the run can do without.
            self.close()
            self.number = 1
            _do(here, model, jobs, take)

    def close(self) -> None:
        if self._hired is not None:
            self._hired.dismiss()
            self._hired = None

    def _is_there(self, jobs: int) -> bool:
        if self.number == 1:
            return False
        if not self._auto:
            return True
        self._widest = max(self._widest, jobs)
        try:
            if self._hired is None and self._patience <= 0:
                self._hired = _Hired(min(self.number, self._widest), self._build, self._data, *self._rest, alone=True)
            return self._hired is not None and self._hired.workers.ready()
        except Exception:  # no room, no way to send the model, a worker that died: this process can do without
            self.close()
            self.number = 1
            return False


def _do(here: Any, model: np.ndarray, jobs: Sequence[Job], take: Take) -> None:
    for at, (method, rest) in enumerate(jobs):
        take(at, getattr(here, method)(model, *rest))


class _Hired:
    """Workers and the data they share; both are given back on `dismiss`, or when the program ends without it."""

    def __init__(self, number: int, build: Callable[..., Backend], data: Data, *rest: Any, alone: bool) -> None:
        shared = SharedData(data)
        try:
            self.workers = Workers(number, build, (shared.places, *rest), shared.forget_names, needs_no_script=alone)
        except BaseException:
            shared.close()
            raise
        self.dismiss = weakref.finalize(self, _dismiss, self.workers, shared)


def _dismiss(workers: Workers, shared: SharedData) -> None:
    workers.close()
    shared.close()
