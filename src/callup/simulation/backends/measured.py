"""Answers about a model as it was received: they need class scores and gradients, however training is done."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection

import numpy as np

from callup.core.errors import MissingSignal, suggest
from callup.core.index import Ids
from callup.simulation.backends.base import Backend, Score, SplitName
from callup.simulation.backends.scores import answers, score
from callup.simulation.task import Split

_PROBES = ("loss", "accuracy", "batch_loss", "gradient")
_REPLIES = ("loss", "loss_rms", "accuracy", "train_loss", "gradient")


class Measured(Backend):
    """A backend that measures clients one by one."""

    @abstractmethod
    def gradient(self, model: np.ndarray, held: Split) -> np.ndarray:
        """Of the mean loss over these samples, as long as the model."""

    def probe(self, model: np.ndarray, name: str, ids: Ids, index: int) -> np.ndarray:
        if name not in _PROBES:
            raise MissingSignal(f"a client cannot be probed for '{name}'{suggest(name, _PROBES)}")
        signal = "loss" if name == "batch_loss" else name
        heard = silence(len(ids), model, (signal,))
        for row, client in enumerate(ids):
            own = self.samples(client)
            if name == "batch_loss":
                picked = self.probe_batch(client, index)
                own = Split(own.x[picked], own.y[picked])
            self.measure(model, own, row, heard)
        return heard[signal]

    def measure(self, model: np.ndarray, own: Split, row: int, heard: dict[str, np.ndarray]) -> None:
        """Writes what one client says of the received model; without samples it says nothing."""
        if len(own) == 0:
            return
        if heard.keys() & {"loss", "loss_rms", "accuracy"}:
            for name, answer in answers(self.logits(model, own.x), own.y).items():
                if name in heard:
                    heard[name][row] = answer
        if "gradient" in heard:
            heard["gradient"][row] = self.gradient(model, own)

    def evaluate(self, model: np.ndarray, split: SplitName) -> Score:
        held: Split = getattr(self.data, split)
        return score(self.logits(model, held.x), held.y, self.data.classes)


def silence(clients: int, model: np.ndarray, wants: Collection[str]) -> dict[str, np.ndarray]:
    """NaN, which is silence, for each wanted signal that a backend can measure: one row for each client."""
    return {
        name: np.full((clients, len(model)), np.nan, np.float32) if name == "gradient" else np.full(clients, np.nan)
        for name in _REPLIES
        if name in wants
    }
