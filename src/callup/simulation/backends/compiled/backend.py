"""Small convolutional networks, clients spread over threads: compiled code lets them run side by side.

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
from callup.simulation.backends.base import Backend, Score, SplitName, Trained
from callup.simulation.backends.compiled.network import Network
from callup.simulation.backends.compiled.plan import Plan
from callup.simulation.backends.course import Course
from callup.simulation.backends.measured import Measured, silence
from callup.simulation.backends.scores import score
from callup.simulation.task import Split

_ROWS = 128  # scored at a time, or as many as a mini-batch has
_Given = TypeVar("_Given")
_Got = TypeVar("_Got")


class Compiled(Measured):
    """Trains and measures in compiled code what `torch` describes, and leaves first weights and the rest to it."""

    def __init__(self, torch: Backend, plan: Plan, workers: int = 1) -> None:
        super().__init__(torch.data, torch.model, torch.shards, torch.local, torch.seed)
        self._torch = torch
        # In a process of a grid whole runs are spread already.
        number = 1 if multiprocessing.current_process().daemon else workers
        self._rows = max(_ROWS, self.local.batch)
        self._networks: SimpleQueue[Network] = SimpleQueue()
        for _ in range(number):
            self._networks.put(Network(plan, self._rows))
        self._threads = ThreadPoolExecutor(number) if number > 1 else None

    def init(self) -> np.ndarray:
        return self._torch.init()

    def class_gradients(self, models: np.ndarray, held: Split) -> np.ndarray:
        return self._torch.class_gradients(models, held)

    def close(self) -> None:
        self._torch.close()
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)

    def train(self, model: np.ndarray, ids: Ids, index: int, rates: np.ndarray, wants: Collection[str]) -> Trained:
        model = model.astype(np.float32)
        models = np.empty((len(ids), len(model)), np.float32)
        steps, heard = np.empty(len(ids), np.int64), silence(len(ids), model, wants)

        def one(row: int) -> None:
            own, course = self.samples(ids[row]), self.course(ids[row], index, rates[row])
            models[row], train_loss = self._train_one(model, own, course)
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

    def evaluate(self, model: np.ndarray, split: SplitName) -> Score:
        held: Split = getattr(self.data, split)
        starts = range(0, max(len(held), 1), self._rows)
        parts = self._spread(lambda at: self.logits(model, held.x[at : at + self._rows]), starts)
        return score(np.concatenate(parts), held.y, self.data.classes)

    def logits(self, model: np.ndarray, x: np.ndarray) -> np.ndarray:
        with self._network() as network:
            parts = [network.logits(model, x[at : at + self._rows]) for at in range(0, len(x), self._rows)]
        return np.concatenate(parts) if parts else np.empty((0, self.data.classes), np.float32)

    def gradient(self, model: np.ndarray, held: Split) -> np.ndarray:
        total = np.zeros(len(model))
        with self._network() as network:
            for at in range(0, len(held), self._rows):
                x, y = held.x[at : at + self._rows], held.y[at : at + self._rows]
                total += network.loss_and_gradient(model, x, y)[1] * (len(y) / len(held))
        return total.astype(np.float32)

    def _train_one(self, model: np.ndarray, own: Split, course: Course) -> tuple[np.ndarray, float]:
        """The local model and the mean of its mini-batch losses."""
        local, weights, velocity, losses = self.local, model.copy(), np.zeros_like(model), []
        with self._network() as network:
            for step, rows in enumerate(course.batches):
                loss, gradient = network.loss_and_gradient(weights, course.inputs(own.x, step), own.y[rows])
                # v <- momentum v + g + decay w + mu (w - w_t);  w <- w - rate v
                if local.weight_decay:
                    gradient += local.weight_decay * weights
                if local.proximal:
                    gradient += local.proximal * (weights - model)
                velocity *= local.momentum
                velocity += gradient
                weights -= float(course.rates[step]) * velocity
                losses.append(loss)
        return weights, float(np.mean(losses)) if losses else np.nan

    @contextmanager
    def _network(self) -> Iterator[Network]:
        """One that no other thread is using."""
        network = self._networks.get()
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # a diverged client is told by its model
                yield network
        finally:
            self._networks.put(network)

    def _spread(self, work: Callable[[_Given], _Got], over: Iterable[_Given]) -> list[_Got]:
        return list(map(work, over) if self._threads is None else self._threads.map(work, over))
