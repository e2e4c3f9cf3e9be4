"""What the two numpy backends share: the network's shape, first weights, class scores and gradients."""

from __future__ import annotations

import math

import numpy as np

from callup.core.errors import InputError, UsageError
from callup.core.randomness import stream
from callup.partition.scheme import Shards
from callup.simulation.backends.measured import Measured
from callup.simulation.backends.mlp import activations, first_weights, loss_and_gradient
from callup.simulation.local import LocalTraining
from callup.simulation.task import Data, Mlp, Model, Split

ROWS = 4096
"""Scored at a time: hidden layers then stay in the cache."""


class MlpBackend(Measured):
    """A backend for `Mlp` alone; images are read as flat rows."""

    def __init__(self, data: Data, model: Model, shards: Shards, local: LocalTraining, seed: int) -> None:
        if not isinstance(model, Mlp):
            raise UsageError("the loop and numpy backends train an Mlp only; use the torch backend for a module")
        check_sizes(model.sizes, data)
        super().__init__(data, model, shards, local, seed)
        self.sizes = model.sizes

    def init(self) -> np.ndarray:
        return first_weights(self.sizes, stream(self.seed, "init"))

    def logits(self, model: np.ndarray, x: np.ndarray) -> np.ndarray:
        x = flat_rows(x)
        with np.errstate(over="ignore", invalid="ignore"):  # a diverged model is told by its scores
            parts = [activations(model, self.sizes, x[at : at + ROWS])[-1] for at in range(0, len(x), ROWS)]
        return np.concatenate(parts) if parts else np.empty((0, self.data.classes), np.float32)

    def gradient(self, model: np.ndarray, held: Split) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            return loss_and_gradient(model, self.sizes, flat_rows(held.x), held.y)[1]


def flat_rows(x: np.ndarray) -> np.ndarray:
    """One float32 row for each sample; no copy where it is one already."""
    return np.ascontiguousarray(x.reshape(len(x), math.prod(x.shape[1:])), np.float32)


def check_sizes(sizes: tuple[int, ...], data: Data) -> None:
    """The network must fit the data at both ends."""
    if len(sizes) < 2 or min(sizes) < 1:
        raise InputError(f"an Mlp needs at least two layer sizes, each of 1 or more, got {sizes}")
    features = math.prod(data.train.x.shape[1:])
    if sizes[0] != features:
        raise InputError(f"the Mlp takes {sizes[0]} inputs, but a sample has {features}; set the first size to that")
    if sizes[-1] != data.classes:
        raise InputError(f"the Mlp gives {sizes[-1]} scores for {data.classes} classes; set the last size to that")
