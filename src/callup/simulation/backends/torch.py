"""Any torch module, clients spread over worker processes with one thread each.

Threads inside an operation collapse when the machine is busy, and clients are independent, so whole clients are
what is spread. Every process computes the same floats: the number of workers changes nothing but the time.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Collection, Sequence
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np

from callup.core.errors import InputError
from callup.core.index import Ids
from callup.core.types import check_k
from callup.partition.scheme import Shards
from callup.simulation.backends.base import Backend, Score, SplitName, Trained
from callup.simulation.backends.crew import Crew
from callup.simulation.backends.scores import score
from callup.simulation.backends.shared_data import AttachedData, Places
from callup.simulation.backends.torch_one import ROWS, TorchOne
from callup.simulation.backends.workers import Job
from callup.simulation.local import LocalTraining
from callup.simulation.task import Data, Model, Module, Split


class Torch(Backend):
    """`workers=1` trains in this process; more of them are started when first needed and end with `close`."""

    def __init__(
        self, data: Data, model: Model, shards: Shards, local: LocalTraining, seed: int, workers: int = 1
    ) -> None:
        super().__init__(data, model, shards, local, seed)
        self._one = TorchOne(data, model, shards, local, seed)
        # A process of a grid may not start others; there, whole runs are spread already.
        self._number = 1 if multiprocessing.current_process().daemon else check_k(workers, "workers")
        if self._number > 1:
            _check_sendable(model)
        self._crew: Crew | None = None

    def init(self) -> np.ndarray:
        return self._one.init()

    def logits(self, model: np.ndarray, x: np.ndarray) -> np.ndarray:
        return self._one.logits(model, x)

    def probe(self, model: np.ndarray, name: str, ids: Ids, index: int) -> np.ndarray:
        if self._number == 1 or len(ids) == 0:
            return self._one.probe(model, name, ids, index)
        return np.concatenate(self._spread(model, [("probe", (name, [client], index)) for client in ids]))

    def train(self, model: np.ndarray, ids: Ids, index: int, rates: np.ndarray, wants: Collection[str]) -> Trained:
        if self._number == 1 or len(ids) == 0:
            return self._one.train(model, ids, index, rates, wants)
        each = zip(ids, rates, strict=True)
        parts = self._spread(model, [("train", ([client], index, row[None], tuple(wants))) for client, row in each])
        return Trained(
            np.concatenate([part.models for part in parts]),
            np.concatenate([part.local_steps for part in parts]),
            {name: np.concatenate([part.signals[name] for part in parts]) for name in parts[0].signals},
        )

    def evaluate(self, model: np.ndarray, split: SplitName) -> Score:
        held: Split = getattr(self.data, split)
        if self._number == 1 or len(held) <= ROWS:
            return self._one.evaluate(model, split)
        parts = self._spread(model, [("logits_of", (split, at)) for at in range(0, len(held), ROWS)])
        return score(np.concatenate(parts), held.y, self.data.classes)

    def class_gradients(self, models: np.ndarray, held: Split) -> np.ndarray:
        if self._number == 1 or len(models) < 2:
            return self._one.class_gradients(models, held)
        shares = [rows.tolist() for rows in np.array_split(np.arange(len(models)), min(self._number, len(models)))]
        return np.concatenate(self._spread(models, [("class_gradients_of", (rows, held)) for rows in shares]))

    def close(self) -> None:
        if self._crew is not None:
            self._crew.close()
            self._crew = None

    def _spread(self, model: np.ndarray, jobs: Sequence[Job]) -> list[Any]:
        if self._crew is None:
            self._crew = Crew(self._number, _Worker, self.data, self.model, self.shards, self.local, self.seed)
        try:
            return self._crew.run(model, jobs)
        except BaseException:
            self.close()  # answers to the other jobs are still on their way, and nobody will hear them
            raise


class _Worker(TorchOne):
    """The backend inside a worker process, on shared data."""

    def __init__(self, places: Places, model: Model, shards: Shards, local: LocalTraining, seed: int) -> None:
        self._attached = AttachedData(places)
        super().__init__(self._attached.data, model, shards, local, seed)


def _check_sendable(model: Model) -> None:
    if not isinstance(model, Module):
        return
    try:
        ForkingPickler.dumps(model.make)
    except Exception as error:
        raise InputError(
            f"workers above 1 need a model function that another process can import, and {model.make!r} is not: "
            "define it with `def` at the top of a module, or use workers = 1"
        ) from error
