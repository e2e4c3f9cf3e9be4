"""A federation that is made up, without data or training: facts that hang together as they do in real ones.

Clients hold skewed labels. The loss of a class falls as it is trained on, a client's loss is the mix of those of its
classes, and its update moves the outputs towards the labels it holds. Thousands of rounds take seconds.
"""

from __future__ import annotations

import numpy as np

from callup.core.clients import Clients
from callup.core.index import Ids
from callup.core.randomness import stream
from callup.core.types import Replies

_HIDDEN = 24  # numbers of the model before the biases of the outputs
_BITS = 64


class DrillWorld:
    """All that is true of the clients; `classes` is the number of labels."""

    def __init__(self, clients: int, classes: int, seed: int) -> None:
        self.seed, self.classes = seed, classes
        rng = stream(seed, "drill")
        sizes = np.ceil(100 * np.exp(0.4 * rng.normal(size=clients)))
        self.shares = rng.dirichlet(np.full(classes, 0.3), clients)
        counts = np.floor(sizes[:, None] * self.shares)
        counts[np.arange(clients), self.shares.argmax(axis=1)] += sizes - counts.sum(axis=1)
        self._mix = rng.normal(size=(classes, _HIDDEN))
        bits = (self.shares @ rng.normal(size=(classes, _BITS)) + 0.1 * rng.normal(size=(clients, _BITS))) > 0
        self.clients = Clients(
            np.arange(clients),
            num_examples=sizes,
            label_counts=counts,
            features=bits.astype(np.float64),
            latency=np.exp(0.5 * rng.normal(size=clients)),
        )
        self.model = np.zeros(_HIDDEN + classes)
        self._trained = np.zeros(classes)

    @property
    def _class_loss(self) -> np.ndarray:
        """From ln(classes) down to a fifth of it, by how much of the class has been trained on."""
        return np.asarray(np.log(self.classes) * (0.2 + 0.8 * np.exp(-self._trained / (20 * self.classes))))

    def fact(self, name: str, ids: Ids, index: int) -> np.ndarray:
        """What an honest client, or the server about it, reports in this round."""
        luck = stream(self.seed, "fact", name, index).random(len(self.clients))[ids]
        loss = self.shares[ids] @ self._class_loss * (0.9 + 0.2 * luck)
        if name in ("loss", "batch_loss", "train_loss", "contribution"):
            return np.asarray(loss)
        if name == "loss_rms":
            return np.asarray(1.2 * loss)
        if name == "accuracy":
            return np.asarray(np.exp(-loss))
        if name == "duration":
            return np.asarray(self.clients.of("latency", ids) * (0.8 + 0.4 * luck))
        if name == "kept":
            return np.asarray(luck < 0.7, np.float64)
        if name == "class_gradients":
            return np.asarray((0.5 + luck[:, None]) / (0.05 + self.shares[ids]))
        if name == "local_steps":
            return np.asarray(np.ceil(self.clients.of("num_examples", ids) / 10))
        return np.asarray(-self._pull(ids, index, "gradient"))

    def train(self, ids: Ids, index: int, wants: list[str]) -> Replies:
        """Honest local training: models that move towards the labels held, and the signals asked for."""
        models = self.model + 0.1 * self._pull(ids, index, "training")
        sizes, steps = self.clients.of("num_examples", ids), self.fact("local_steps", ids, index)
        own = [name for name in wants if name not in ("update", "class_gradients")]
        return Replies(ids, self.model, models, sizes, steps, {name: self.fact(name, ids, index) for name in own})

    def average(self, replies: Replies) -> None:
        """The mean of the replies becomes the model; their classes have been trained on once more."""
        if len(replies.ids):
            self.model = np.asarray(replies.models.mean(axis=0))
            self._trained = self._trained + self.shares[replies.ids].sum(axis=0)

    def _pull(self, ids: Ids, index: int, occasion: str) -> np.ndarray:
        """Towards the classes held, away from the usual mix; every client's noise is its own."""
        away = self.shares[ids] - self.shares.mean(axis=0)
        width = _HIDDEN + self.classes
        noise = stream(self.seed, occasion, index).normal(size=(len(self.clients), width))[ids]
        return np.asarray(np.concatenate([away @ self._mix, away], axis=1) + 0.05 * noise)
