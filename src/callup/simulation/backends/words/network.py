"""The whole next-word model on one flat vector."""

from __future__ import annotations

import numpy as np

from callup.simulation.backends.words.backend import Judged
from callup.simulation.backends.words.lstm import backward, forward
from callup.simulation.backends.words.output import Output, losses_of
from callup.simulation.backends.words.weights import Weights
from callup.simulation.task import Split, WordLstm


class Network:
    """One thread at a time may use it."""

    def __init__(self, model: WordLstm) -> None:
        self._model, self._output = model, Output()

    def descend(self, flat: np.ndarray, into: np.ndarray, held: Split, scale: float) -> float:
        """The summed loss over the words asked; `into` loses `scale` times its gradient.

        `into` is a vector as long as the model, or the model itself.
        """
        weights, target = Weights.of(flat, self._model), Weights.of(into, self._model)
        words = held.x.T
        passed = forward(weights, words)
        features = passed[-1].outputs.reshape(held.x.size, -1)
        places = held.y.T.ravel()
        asked = np.flatnonzero(places >= 0)
        if len(asked) == 0:
            return 0.0
        every = len(asked) == len(places)
        loss, error = self._output.descend(
            weights, target, features if every else features[asked], places[asked], scale
        )
        if not every:
            spread = np.zeros_like(features)
            spread[asked] = error
            error = spread
        backward(weights, target, words, passed, error.reshape(passed[-1].outputs.shape))
        return loss

    def judged(self, flat: np.ndarray, held: Split) -> Judged:
        weights = Weights.of(flat, self._model)
        losses, words = losses_of(weights, self._features(weights, held.x)[held.y >= 0], held.targets)
        return Judged(losses, words == held.targets)

    def logits(self, flat: np.ndarray, x: np.ndarray) -> np.ndarray:
        """(samples, places, words)"""
        weights = Weights.of(flat, self._model)
        return np.asarray(self._features(weights, x) @ weights.out.T + weights.biases)

    def _features(self, weights: Weights, x: np.ndarray) -> np.ndarray:
        """(samples, places, hidden)"""
        return np.ascontiguousarray(forward(weights, x.T)[-1].outputs.transpose(1, 0, 2))
