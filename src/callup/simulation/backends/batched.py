"""All chosen clients at once in batched products: the backend that needs no torch and is fast on small networks.

Groups of clients are spread over worker processes, because Python's threads wait for each other between products. Who
is in a group does not depend on the number of workers, and so no float does.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from callup.core.index import Ids
from callup.core.types import check_k
from callup.partition.scheme import Shards
from callup.simulation.backends.base import Score, SplitName, Trained
from callup.simulation.backends.batched_one import BatchedOne
from callup.simulation.backends.class_gradients import batched_mean_squares, by_class
from callup.simulation.backends.crew import Crew
from callup.simulation.backends.grouping import group_clients
from callup.simulation.backends.measured import silence
from callup.simulation.backends.mlp_backend import ROWS, flat_rows
from callup.simulation.backends.scores import score
from callup.simulation.backends.shared_data import AttachedData, Places
from callup.simulation.backends.workers import Job
from callup.simulation.local import LocalTraining
from callup.simulation.task import Data, Model, Split


class Batched(BatchedOne):
    """Softmax regression and multilayer perceptrons, many clients in one step.

    `workers=1` trains in this process; more of them are started when first needed and end with `close`.
    """

    def __init__(
        self, data: Data, model: Model, shards: Shards, local: LocalTraining, seed: int, workers: int = 1
    ) -> None:
        super().__init__(data, model, shards, local, seed)
        # A process of a grid may not start others; there, whole runs are spread already.
        self._number = 1 if multiprocessing.current_process().daemon else check_k(workers, "workers")
        self._crew: Crew | None = None

    def train(self, model: np.ndarray, ids: Ids, index: int, rates: np.ndarray, wants: Collection[str]) -> Trained:
        model = model.astype(np.float32)
        groups = group_clients([len(self.rows(client)) for client in ids], self.local, self.largest, self.sizes)
        jobs: list[Job] = [
            ("train_group", (ids[group.members], index, rates[group.members], tuple(wants), group.spanned))
            for group in groups
        ]
        # As a client without samples answers; the others are written over it.
        models, steps = np.repeat(model[None], len(ids), axis=0), np.zeros(len(ids), np.int64)
        heard = silence(len(ids), model, wants)
        for group, part in zip(groups, self._spread(model, jobs), strict=True):
            models[group.members], steps[group.members] = part.models, part.local_steps
            for name, answers in part.signals.items():
                heard[name][group.members] = answers
        return Trained(models, steps, heard)

    def probe(self, model: np.ndarray, name: str, ids: Ids, index: int) -> np.ndarray:
        if self._number == 1 or len(ids) < 2:
            return super().probe(model, name, ids, index)
        # Clients are measured one by one, whoever does it.
        shares = np.array_split(ids, min(2 * self._number, len(ids)))
        return np.concatenate(self._spread(model, [("probe", (name, share, index)) for share in shares]))

    def evaluate(self, model: np.ndarray, split: SplitName) -> Score:
        held: Split = getattr(self.data, split)
        if self._number == 1 or len(held) <= ROWS:
            return super().evaluate(model, split)
        parts = self._spread(model, [("logits_of", (split, at)) for at in range(0, len(held), ROWS)])
        return score(np.concatenate(parts), held.y, self.data.classes)

    def class_gradients(self, models: np.ndarray, held: Split) -> np.ndarray:
        parts = by_class(held, self.data.classes)
        models = np.asarray(models, np.float32)
        with np.errstate(over="ignore", invalid="ignore"):  # a diverged model is told by its gradients
            pulls = [batched_mean_squares(models, self.sizes, flat_rows(p.x), b) for b, p in enumerate(parts)]
        return np.stack(pulls, axis=1)

    def close(self) -> None:
        if self._crew is not None:
            self._crew.close()
            self._crew = None

    def _spread(self, model: np.ndarray, jobs: Sequence[Job]) -> list[Any]:
        """The answers to all jobs, from this process or from the workers."""
        if self._number == 1:
            return [getattr(self, method)(model, *rest) for method, rest in jobs]
        if self._crew is None:
            self._crew = Crew(self._number, _Worker, self.data, self.model, self.shards, self.local, self.seed)
        try:
            return self._crew.run(model, jobs)
        except BaseException:
            self.close()  # answers to the other jobs are still on their way, and nobody will hear them
            raise


class _Worker(Batched):
    """The backend inside a worker process, on shared data and with one BLAS thread."""

    def __init__(self, places: Places, model: Model, shards: Shards, local: LocalTraining, seed: int) -> None:
        self._attached, self._limit = AttachedData(places), threadpool_limits(1)
        super().__init__(self._attached.data, model, shards, local, seed)
