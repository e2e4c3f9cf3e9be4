"""All chosen clients at once in batched products: the backend that needs no torch and is fast on small networks.

Groups of clients are spread over worker processes, because Python's threads wait for each other between products. Who
is in a group does not depend on the number of workers, and so no float does.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from threadpoolctl import threadpool_limits

from callup.core.index import Ids
from callup.partition.scheme import Shards
from callup.simulation.backends.base import Score, SplitName, Trained
from callup.simulation.backends.batched_one import BatchedOne
from callup.simulation.backends.class_gradients import batched_mean_squares, by_class
from callup.simulation.backends.cores import Wanted
from callup.simulation.backends.crew import Crew
from callup.simulation.backends.grouping import group_clients
from callup.simulation.backends.measured import silence
from callup.simulation.backends.mlp_backend import ROWS, flat_rows
from callup.simulation.backends.scores import score
from callup.simulation.backends.shared_data import AttachedData, Places
from callup.simulation.backends.workers import Job
from callup.simulation.local import LocalTraining
from callup.simulation.task import Data, Model, Split

_PATIENCE = 2.0  # seconds: more than workers take to start


class Batched(BatchedOne):
    """Softmax regression and multilayer perceptrons, many clients in one step.

    `workers=1` trains in this process; others are started when they are needed and end with `close`.
    """

    def __init__(
        self, data: Data, model: Model, shards: Shards, local: LocalTraining, seed: int, workers: Wanted = 1
    ) -> None:
        super().__init__(data, model, shards, local, seed)
        self._crew = Crew(workers, _PATIENCE, _Worker, data, model, shards, local, seed)

    def train(self, model: np.ndarray, ids: Ids, index: int, rates: np.ndarray, wants: Collection[str]) -> Trained:
        model = model.astype(np.float32)
        groups = group_clients([len(self.rows(client)) for client in ids], self.local, self.largest, self.sizes)
        jobs: list[Job] = [
            ("train_group", (ids[group.members], index, rates[group.members], tuple(wants), group.spanned))
            for group in groups
        ]
        models, steps = np.empty((len(ids), len(model)), np.float32), np.zeros(len(ids), np.int64)
        heard = silence(len(ids), model, wants)
        trained = {member for group in groups for member in group.members}
        models[[row for row in range(len(ids)) if row not in trained]] = model  # of clients without samples

        def keep(group: int, part: Trained) -> None:
            members = groups[group].members
            models[members], steps[members] = part.models, part.local_steps
            for name, answers in part.signals.items():
                heard[name][members] = answers

        self._crew.run(self, model, jobs, keep)
        return Trained(models, steps, heard)

    def probe(self, model: np.ndarray, name: str, ids: Ids, index: int) -> np.ndarray:
        # Clients are measured one by one, whoever does it.
        shares = np.array_split(ids, max(min(2 * self._crew.number, len(ids)), 1))
        return self._crew.arrays(self, model, [("probe_here", (name, share, index)) for share in shares])

    def evaluate(self, model: np.ndarray, split: SplitName) -> Score:
        held: Split = getattr(self.data, split)
        starts = range(0, max(len(held), 1), ROWS)
        logits = self._crew.arrays(self, model, [("logits_of", (split, at)) for at in starts])
        return score(logits, held.y, self.data.classes)

    def class_gradients(self, models: np.ndarray, held: Split) -> np.ndarray:
        parts = by_class(held, self.data.classes)
        models = np.asarray(models, np.float32)
        with np.errstate(over="ignore", invalid="ignore"):  # a diverged model is told by its gradients
            pulls = [batched_mean_squares(models, self.sizes, flat_rows(p.x), b) for b, p in enumerate(parts)]
        return np.stack(pulls, axis=1)

    def close(self) -> None:
        self._crew.close()


class _Worker(Batched):
    """The backend inside a worker process, on shared data and with one BLAS thread."""

    def __init__(self, places: Places, model: Model, shards: Shards, local: LocalTraining, seed: int) -> None:
        self._attached, self._limit = AttachedData(places), threadpool_limits(1)
        super().__init__(self._attached.data, model, shards, local, seed)
