"""Made-up replies of one round, and a workbench that measures them with a linear model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from callup.core.clients import Clients
from callup.core.index import Ids
from callup.core.randomness import stream
from callup.core.types import Replies
from callup.testing.federation import Federation

_INPUTS, _CLASSES, _SAMPLES = 5, 4, 40


def start_model(seed: int = 0) -> np.ndarray:
    """The global model: the weights of a linear classifier, flat, float32."""
    return stream(seed, "model").normal(size=_INPUTS * _CLASSES).astype(np.float32)


def profile(world: Federation) -> Clients:
    """What a runtime shows to averages: sizes and label counts of all clients."""
    return world.clients(("num_examples", "label_counts"))


def made_up(world: Federation, ids: Ids, model: np.ndarray, index: int = 1, size: float = 1.0) -> Replies:
    """Replies of these clients in a round; each hangs on the client's id. `size` scales the local models."""
    steps = np.stack([stream(world.seed, "local", index, int(i)).normal(size=len(model)) for i in ids] or [model])
    models = (size * (model + 0.3 * steps[: len(ids)])).astype(np.float32)  # (0, d) when nobody replied
    local_steps = world.fact("local_steps", ids, index)
    return Replies(ids, model, models, world.column("num_examples", ids), local_steps)


def ordered(replies: Replies, order: np.ndarray) -> Replies:
    """The same replies, arriving in another order."""
    return replies.only(order)


@dataclass(frozen=True)
class LinearBench:
    """A workbench over a small validation set; the average of replies is their plain mean."""

    replies: Replies
    seed: int = 0

    @property
    def labels(self) -> np.ndarray:
        return np.arange(_SAMPLES) % _CLASSES

    def logits(self, row: int) -> np.ndarray:
        return self._logits(self.replies.models[row])

    def loss(self, rows: np.ndarray) -> float:
        logits = self._logits(self._average(rows))
        logits -= logits.max(axis=1, keepdims=True)
        log_share = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        return float(-log_share[np.arange(_SAMPLES), self.labels].mean())

    def accuracy(self, rows: np.ndarray) -> float:
        return float((self._logits(self._average(rows)).argmax(axis=1) == self.labels).mean())

    def _average(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(self.replies.models[rows].mean(axis=0) if len(rows) else self.replies.start)

    def _logits(self, model: np.ndarray) -> np.ndarray:
        inputs = stream(self.seed, "validation").normal(size=(_SAMPLES, _INPUTS))
        return np.asarray(inputs @ model.astype(np.float64).reshape(_INPUTS, _CLASSES))
