"""Answers about a model as it was received: they need class scores and gradients, however training is done."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence

import numpy as np

from callup.core.errors import MissingSignal, suggest
from callup.core.index import Ids
from callup.simulation.backends.base import Backend, Score, SplitName
from callup.simulation.backends.scores import answers, score
from callup.simulation.task import Split

_PROBES = ("loss", "accuracy", "batch_loss", "gradient")
_REPLIES = ("loss", "loss_rms", "accuracy", "gradient")


class Measured(Backend):
    """A backend that measures clients one by one."""

    @abstractmethod
    def gradient(self, model: np.ndarray, held: Split) -> np.ndarray:
        """Of the mean loss over these samples, as long as the model."""

    def probe(self, model: np.ndarray, name: str, ids: Ids, index: int) -> np.ndarray:
        if name not in _PROBES:
            raise MissingSignal(f"a client cannot be probed for '{name}'{suggest(name, _PROBES)}")
        if name != "batch_loss":
            return self.before(model, [self.samples(client) for client in ids], (name,))[name]
        held = [self.samples(client) for client in ids]
        picked = [self.probe_batch(client, index) for client in ids]
        batches = [Split(own.x[rows], own.y[rows]) for own, rows in zip(held, picked, strict=True)]
        return self.before(model, batches, ("loss",))["loss"]

    def before(self, model: np.ndarray, held: Sequence[Split], wants: Collection[str]) -> dict[str, np.ndarray]:
        """The wanted signals of the received model on each client's samples, one row for each client."""
        names = [name for name in _REPLIES if name in wants]
        rows = [self._about(model, own, names) for own in held]
        shapes = {name: (len(model),) if name == "gradient" else () for name in names}
        return {name: np.array([row[name] for row in rows]).reshape(-1, *shapes[name]) for name in names}

    def evaluate(self, model: np.ndarray, split: SplitName) -> Score:
        held: Split = getattr(self.data, split)
        return score(self.logits(model, held.x), held.y, self.data.classes)

    def _about(self, model: np.ndarray, own: Split, names: Collection[str]) -> dict[str, np.ndarray | float]:
        found: dict[str, np.ndarray | float] = {}
        if any(name != "gradient" for name in names):
            found |= answers(self.logits(model, own.x), own.y)
        if "gradient" in names:
            found["gradient"] = self.gradient(model, own) if len(own) else np.full_like(model, np.nan)
        return found
