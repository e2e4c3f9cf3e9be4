"""One step of SGD on a next-word model: plain, or with momentum, weight decay and a proximal term."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from callup.simulation.backends.words.network import Network
from callup.simulation.local import LocalTraining
from callup.simulation.task import Split


class Sgd(Protocol):
    def step(self, network: Network, part: Split, rate: float, asked: int) -> float:
        """Moves the weights; returns the summed loss over the words asked, which are `asked` many."""


def make_sgd(weights: np.ndarray, local: LocalTraining) -> Sgd:
    """Moves this vector, which is the received model, in place."""
    plain = not (local.momentum or local.weight_decay or local.proximal)
    return Plain(weights) if plain else General(weights, local)


class Plain:
    """w <- w - rate g. The gradient goes straight into the weights: only embeddings of words that occur are touched."""

    def __init__(self, weights: np.ndarray) -> None:
        self._weights = weights

    def step(self, network: Network, part: Split, rate: float, asked: int) -> float:
        return network.descend(self._weights, self._weights, part, rate / max(asked, 1))


class General:
    """v <- momentum v + g + decay w + mu (w - w_t);  w <- w - rate v."""

    def __init__(self, weights: np.ndarray, local: LocalTraining) -> None:
        self._weights, self._local = weights, local
        self._start = weights.copy()
        self._velocity, self._gradient = np.zeros_like(weights), np.empty_like(weights)

    def step(self, network: Network, part: Split, rate: float, asked: int) -> float:
        weights, velocity, gradient, local = self._weights, self._velocity, self._gradient, self._local
        gradient[:] = 0
        loss = network.descend(weights, gradient, part, -1 / max(asked, 1))
        if local.weight_decay:
            gradient += local.weight_decay * weights
        if local.proximal:
            gradient += local.proximal * (weights - self._start)
        velocity *= local.momentum
        velocity += gradient
        weights -= rate * velocity
        return loss
