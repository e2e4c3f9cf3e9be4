"""Next-word prediction in numpy, clients spread over threads, which its products let run side by side.

A client is trained by one thread in the same order whoever else is at work, so the number of workers changes nothing
but the time.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from queue import SimpleQueue
from typing import TypeVar

import numpy as np

from callup.core.index import Ids
from callup.core.types import check_k
from callup.partition.scheme import Shards
from callup.simulation.backends.base import Score, SplitName, Trained
from callup.simulation.backends.course import Course
from callup.simulation.backends.measured import silence
from callup.simulation.backends.words.backend import Judged, WordsBackend
from callup.simulation.backends.words.network import Network
from callup.simulation.backends.words.sgd import make_sgd
from callup.simulation.local import LocalTraining
from callup.simulation.task import Data, Split, WordLstm

_ROWS = 32  # samples at a time where nothing is learned
_Given = TypeVar("_Given")
_Got = TypeVar("_Got")


class ThreadedWords(WordsBackend):
    """`workers` are threads."""

    def __init__(
        self, data: Data, model: WordLstm, shards: Shards, local: LocalTraining, seed: int, workers: int = 1
    ) -> None:
        super().__init__(data, model, shards, local, seed)
        # In a process of a grid whole runs are spread already.
        number = 1 if multiprocessing.current_process().daemon else check_k(workers, "workers")
        self._networks: SimpleQueue[Network] = SimpleQueue()
        for _ in range(number):
            self._networks.put(Network(model))
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
            train_loss = self._train_one(model, own, course, models[row])
            steps[row] = len(course)
            self.measure(model, own, row, heard)
            if "train_loss" in heard:
                heard["train_loss"][row] = train_loss

        self._spread(one, range(len(ids)))
        return Trained(models, steps, heard)

    def probe(self, model: np.ndarray, name: str, ids: Ids, index: int) -> np.ndarray:
        ask = super().probe
        if len(ids) == 0:
            return ask(model, name, ids, index)
        return np.concatenate(self._spread(lambda client: ask(model, name, np.array([client]), index), ids))

    def judged(self, model: np.ndarray, held: Split) -> Judged:
        with self._network() as network:
            return Judged.joined([network.judged(model, part) for part in _parts(held)])

    def evaluate(self, model: np.ndarray, split: SplitName) -> Score:
        parts = _parts(getattr(self.data, split))
        return Judged.joined(self._spread(lambda part: self.judged(model, part), parts)).score

    def logits(self, model: np.ndarray, x: np.ndarray) -> np.ndarray:
        with self._network() as network:
            parts = [network.logits(model, x[at : at + _ROWS]) for at in range(0, len(x), _ROWS)]
        return np.concatenate(parts) if parts else np.empty((*x.shape, self.sizes.words), np.float32)

    def gradient(self, model: np.ndarray, held: Split) -> np.ndarray:
        total, asked = np.zeros(len(model), np.float32), max(len(held.targets), 1)
        with self._network() as network:
            for part in _parts(held):
                network.descend(model, total, part, -1 / asked)
        return total

    def _train_one(self, model: np.ndarray, own: Split, course: Course, weights: np.ndarray) -> float:
        """Writes the local model; returns the mean of its mini-batch losses."""
        weights[:] = model
        sgd, losses = make_sgd(weights, self.local), []
        with self._network() as network:
            for rows, rate in zip(course.batches, course.rates, strict=True):
                part = Split(own.x[rows], own.y[rows])
                asked = int(np.count_nonzero(part.y >= 0))
                loss = sgd.step(network, part, float(rate), asked)
                if asked:
                    losses.append(loss / asked)
        return float(np.mean(losses)) if losses else np.nan

    @contextmanager
    def _network(self) -> Iterator[Network]:
        """One that no other thread is using."""
        network = self._networks.get()
        try:
            with np.errstate(
                over="ignore", invalid="ignore", divide="ignore"
            ):  # a diverged client is told by its model
                yield network
        finally:
            self._networks.put(network)

    def _spread(self, work: Callable[[_Given], _Got], over: Iterable[_Given]) -> list[_Got]:
        return list(map(work, over) if self._threads is None else self._threads.map(work, over))


def _parts(held: Split) -> list[Split]:
    """A few samples at a time; at least one part, be it empty."""
    return [Split(held.x[at : at + _ROWS], held.y[at : at + _ROWS]) for at in range(0, max(len(held), 1), _ROWS)]
