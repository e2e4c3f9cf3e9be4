"""Clients spread over threads, for networks whose work lets go of Python's lock.

A client is trained by one thread in the same order whoever else is at work, so the number of workers changes nothing
but the time.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Generic, TypeVar

import numpy as np

from callup.core.index import Ids
from callup.simulation.backends.base import Trained
from callup.simulation.backends.cores import Wanted, hands
from callup.simulation.backends.course import Course
from callup.simulation.backends.measured import Measured, silence
from callup.simulation.task import Split

Network = TypeVar("Network")
_Given = TypeVar("_Given")
_Got = TypeVar("_Got")


class Threaded(Measured, Generic[Network]):
    """A backend whose `workers` are threads, each with a network of its own; `hire` comes before anything else."""

    def hire(self, workers: Wanted, make: Callable[[], Network]) -> None:
        number = min(hands(workers), len(self.shards.ids)) if workers == "auto" else hands(workers)
        self._networks: SimpleQueue[Network] = SimpleQueue()
        for _ in range(number):
            self._networks.put(make())
        self._threads = ThreadPoolExecutor(number) if number > 1 else None

    def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)

    def train(self, model: np.ndarray, ids: Ids, index: int, rates: np.ndarray, wants: Collection[str]) -> Trained:
        model = model.astype(np.float32)
        models = np.empty((len(ids), len(model)), np.float32)
        steps, heard = np.empty(len(ids), np.int64), silence(len(ids), model, wants)

        def one(row: int) -> None:
            own, course = self.samples(ids[row]), self.course(ids[row], index, rates[row])
            train_loss = self.train_one(model, own, course, models[row])
            steps[row] = len(course)
            self.measure(model, own, row, heard)
            if "train_loss" in heard:
                heard["train_loss"][row] = train_loss

        self.spread(one, range(len(ids)))
        return Trained(models, steps, heard)

    @abstractmethod
    def train_one(self, model: np.ndarray, own: Split, course: Course, weights: np.ndarray) -> float:
        """Writes the local model into `weights`; returns the mean of its mini-batch losses, NaN after no step."""

    def probe(self, model: np.ndarray, name: str, ids: Ids, index: int) -> np.ndarray:
        ask = super().probe
        if len(ids) == 0:
            return ask(model, name, ids, index)
        return np.concatenate(self.spread(lambda client: ask(model, name, np.array([client]), index), ids))

    @contextmanager
    def network(self) -> Iterator[Network]:
        """One that no other thread is using."""
        network = self._networks.get()
        try:
            # A diverged client is told by its model, not by warnings.
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                yield network
        finally:
            self._networks.put(network)

    def spread(self, work: Callable[[_Given], _Got], over: Iterable[_Given]) -> list[_Got]:
        return list(map(work, over) if self._threads is None else self._threads.map(work, over))
