"""Which backend a run uses: by name, or the fastest one that can train the model."""

from __future__ import annotations

from callup.core.errors import UsageError, suggest
from callup.partition.scheme import Shards
from callup.simulation.augment import image_shape
from callup.simulation.backends.base import Backend
from callup.simulation.local import LocalTraining
from callup.simulation.task import Data, Model, Module

BACKENDS = ("auto", "loop", "numpy", "torch")


def make_backend(
    name: str, data: Data, model: Model, shards: Shards, local: LocalTraining, seed: int, workers: int = 1
) -> Backend:
    """`auto` is numpy for an Mlp and torch for a module; `workers` are the torch backend's."""
    if name not in BACKENDS:
        raise UsageError(f"unknown backend '{name}'{suggest(name, BACKENDS)}")
    if name in ("loop", "numpy") and isinstance(model, Module):
        raise UsageError(f"backend '{name}' cannot train a torch module; use backend 'torch' or 'auto' for this task")
    if local.augment != "none":
        image_shape(data.train.x.shape[1:])
    if name == "torch" or isinstance(model, Module):
        from callup.simulation.backends.torch import Torch

        return Torch(data, model, shards, local, seed, workers)
    if name == "loop":
        from callup.simulation.backends.loop import Loop

        return Loop(data, model, shards, local, seed)
    from callup.simulation.backends.batched import Batched

    return Batched(data, model, shards, local, seed)
