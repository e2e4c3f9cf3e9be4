"""Which backend a run uses: by name, or the fastest one that can train the model."""

from __future__ import annotations

from callup.core.errors import CallupError, UsageError, suggest
from callup.partition.scheme import Shards
from callup.simulation.augment import image_shape
from callup.simulation.backends.base import Backend
from callup.simulation.backends.cores import Wanted
from callup.simulation.local import LocalTraining
from callup.simulation.task import Data, Model, Module, WordLstm

BACKENDS = ("auto", "loop", "numpy", "torch", "compiled")


def make_backend(
    name: str, data: Data, model: Model, shards: Shards, local: LocalTraining, seed: int, workers: Wanted = 1
) -> Backend:
    """`auto` is numpy for an Mlp; for a module it is compiled, if numba is here and the kernels know it, or else torch.

    `workers` are threads for the compiled backend and processes for numpy and torch; `loop` knows none. With `auto`
    there is one for each core, once that pays. Next-word models have backends of their own under the names numpy, with
    threads, and torch, which knows no workers.
    """
    if name not in BACKENDS:
        raise UsageError(f"unknown backend '{name}'{suggest(name, BACKENDS)}")
    if isinstance(model, WordLstm):
        return _words(name, data, model, shards, local, seed, workers)
    if name in ("loop", "numpy") and isinstance(model, Module):
        raise UsageError(f"backend '{name}' cannot train a torch module; use backend 'torch' or 'auto' for this task")
    if local.augment != "none":
        image_shape(data.train.x.shape[1:])
    if name == "compiled" and not isinstance(model, Module):
        raise UsageError("backend 'compiled' trains convolutional networks only; use 'numpy' or 'auto' for this task")
    if name == "torch" or isinstance(model, Module):
        from callup.simulation.backends.torch import Torch

        torch = Torch(data, model, shards, local, seed, workers)
        if name == "torch" or not isinstance(model, Module):
            return torch
        return _compiled(torch, model, workers, only=name == "compiled")
    if name == "loop":
        from callup.simulation.backends.loop import Loop

        return Loop(data, model, shards, local, seed)
    from callup.simulation.backends.batched import Batched

    return Batched(data, model, shards, local, seed, workers)


def _words(
    name: str, data: Data, model: WordLstm, shards: Shards, local: LocalTraining, seed: int, workers: Wanted
) -> Backend:
    """Next-word models: numpy with threads, or plain torch."""
    if name in ("loop", "compiled"):
        raise UsageError(f"backend '{name}' cannot train a next-word model; use 'numpy', 'torch' or 'auto'")
    if local.augment != "none":
        raise UsageError(f"local training: augment is '{local.augment}', but texts cannot be cropped; use 'none'")
    if name == "torch":
        from callup.simulation.backends.words.torch_words import TorchWords

        return TorchWords(data, model, shards, local, seed)
    from callup.simulation.backends.words.threaded import ThreadedWords

    return ThreadedWords(data, model, shards, local, seed, workers)


def _compiled(torch: Backend, model: Module, workers: Wanted, only: bool) -> Backend:
    """The same network in compiled kernels; where that cannot be, torch itself or, if only they will do, the reason."""
    from callup.simulation.backends.compiled.plan import find_plan

    try:
        plan = find_plan(model, torch.data.train.x.shape[1:])
    except CallupError:
        if only:
            raise
        return torch
    from callup.simulation.backends.compiled.backend import Compiled

    return Compiled(torch, plan, workers)
