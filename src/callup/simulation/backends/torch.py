"""Any torch module, clients spread over worker processes with one thread each.

Threads inside an operation collapse when the machine is busy, and clients are independent, so whole clients are
what is spread. Every process computes the same floats: the number of workers changes nothing but the time.
"""

from __future__ import annotations

from collections.abc import Collection
from multiprocessing.reduction import ForkingPickler

import numpy as np

from callup.core.errors import InputError
from callup.core.index import Ids
from callup.partition.scheme import Shards
from callup.simulation.backends.base import Backend, Score, SplitName, Trained
from callup.simulation.backends.cores import Wanted
from callup.simulation.backends.crew import Crew
from callup.simulation.backends.measured import silence
from callup.simulation.backends.scores import score
from callup.simulation.backends.shared_data import AttachedData, Places
from callup.simulation.backends.torch_one import ROWS, TorchOne
from callup.simulation.local import LocalTraining
from callup.simulation.task import Data, Model, Module, Split

_PATIENCE = 10.0  # seconds: workers have to import torch


class Torch(Backend):
    """`workers=1` trains in this process; others are started when they are needed and end with `close`."""

    def __init__(
        self, data: Data, model: Model, shards: Shards, local: LocalTraining, seed: int, workers: Wanted = 1
    ) -> None:
        super().__init__(data, model, shards, local, seed)
        self._one = TorchOne(data, model, shards, local, seed)
        self._crew = Crew(workers, _PATIENCE, _Worker, data, model, shards, local, seed)
        if self._crew.number > 1 and workers != "auto":
            _check_sendable(model)

    def init(self) -> np.ndarray:
        return self._one.init()

    def logits(self, model: np.ndarray, x: np.ndarray) -> np.ndarray:
        return self._one.logits(model, x)

    def probe(self, model: np.ndarray, name: str, ids: Ids, index: int) -> np.ndarray:
        if len(ids) == 0:
            return self._one.probe(model, name, ids, index)
        jobs = [("probe", (name, [client], index)) for client in ids]
        return self._crew.arrays(self._one, model, jobs)

    def train(self, model: np.ndarray, ids: Ids, index: int, rates: np.ndarray, wants: Collection[str]) -> Trained:
        each = zip(ids, rates, strict=True)
        jobs = [("train", ([client], index, row[None], tuple(wants))) for client, row in each]
        models, steps = np.empty((len(ids), len(model)), np.float32), np.empty(len(ids), np.int64)
        heard = silence(len(ids), model, wants)

        def keep(row: int, part: Trained) -> None:
            models[row], steps[row] = part.models[0], part.local_steps[0]
            for name, answers in part.signals.items():
                heard[name][row] = answers[0]

        self._crew.run(self._one, model, jobs, keep)
        return Trained(models, steps, heard)

    def evaluate(self, model: np.ndarray, split: SplitName) -> Score:
        held: Split = getattr(self.data, split)
        starts = range(0, max(len(held), 1), ROWS)
        logits = self._crew.arrays(self._one, model, [("logits_of", (split, at)) for at in starts])
        return score(logits, held.y, self.data.classes)

    def class_gradients(self, models: np.ndarray, held: Split) -> np.ndarray:
        shares = np.array_split(np.arange(len(models)), max(min(self._crew.number, len(models)), 1))
        jobs = [("class_gradients_of", (rows.tolist(), held)) for rows in shares]
        return self._crew.arrays(self._one, models, jobs)

    def close(self) -> None:
        self._crew.close()


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
