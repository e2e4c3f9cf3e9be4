"""Fed-cucb's estimate of label shares against the truth: every client of a federation trains once and is measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from callup.analytics.class_ratio import Comparison, Form, class_ratios, compared
from callup.core.errors import InputError
from callup.core.index import Ids
from callup.simulation.auxiliary import PER_CLASS, auxiliary_set
from callup.simulation.settings import settings
from callup.simulation.world import World

_AT_A_TIME = 50  # local models held in memory


@dataclass(frozen=True)
class Estimates:
    """What the server can tell of every client's labels, and the truth; rows in the order of `ids`."""

    ids: Ids
    gradients: np.ndarray
    """How hard each class of the auxiliary samples pulls at each local model."""
    label_counts: np.ndarray
    """The truth: samples of each class."""

    def ratios(self, form: Form = "inverse", beta: float = 1.0) -> np.ndarray:
        """Estimated label shares; see `callup.analytics.class_ratio.class_ratios`."""
        return class_ratios(self.gradients, form, beta)

    def compared(self, form: Form = "inverse", beta: float = 1.0) -> Comparison:
        """How near they come, client by client."""
        return compared(self.ratios(form, beta), self.label_counts)


def estimate_class_ratios(
    task: str = "fashion14-mlp",
    partition: str = "dirichlet:alpha=0.5",
    seed: int = 0,
    model: np.ndarray | None = None,
    per_class: int = PER_CLASS,
    backend: str = "auto",
    local: Mapping[str, Any] | None = None,
) -> Estimates:
    """Trains every client once, from the first model unless another is given, e.g. that of a run of the same task."""
    world = World(settings(task=task, partition=partition, seed=seed, backend=backend, local=local or {}))
    at = world.start_model if model is None else np.asarray(model)
    if at.shape != world.start_model.shape:
        raise InputError(f"the model of {task} has {world.start_model.shape[0]:,} numbers, got shape {at.shape}")
    ids, held = world.clients.ids, auxiliary_set(world.validation, per_class)
    rates = world.local.rates(1, np.zeros(len(ids)))
    pulls = []
    try:
        with threadpool_limits(1):  # more threads change the last bits of a sum
            for first in range(0, len(ids), _AT_A_TIME):
                rows = slice(first, first + _AT_A_TIME)
                trained = world.backend.train(at, ids[rows], 1, rates[rows], ())
                pulls.append(world.backend.class_gradients(trained.models, held))
    finally:
        world.backend.close()
    return Estimates(ids, np.concatenate(pulls), world.clients.all("label_counts"))
