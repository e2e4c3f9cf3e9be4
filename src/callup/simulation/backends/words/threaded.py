"""Next-word prediction in numpy, clients spread over threads, which its products let run side by side."""

from __future__ import annotations

import numpy as np

from callup.partition.scheme import Shards
from callup.simulation.backends.base import Score, SplitName
from callup.simulation.backends.cores import Wanted
from callup.simulation.backends.course import Course
from callup.simulation.backends.threaded import Threaded
from callup.simulation.backends.words.backend import Judged, WordsBackend
from callup.simulation.backends.words.network import Network
from callup.simulation.backends.words.sgd import make_sgd
from callup.simulation.local import LocalTraining
from callup.simulation.task import Data, Split, WordLstm

_ROWS = 32  # samples at a time where nothing is learned
_WORTH_THREADS = 500_000
"""Weights of the output layer: with 128,000 two threads were no faster than one, with 2,000,000 they are."""


class ThreadedWords(Threaded[Network], WordsBackend):
    """Next words, a client to a thread."""

    def __init__(
        self, data: Data, model: WordLstm, shards: Shards, local: LocalTraining, seed: int, workers: Wanted = 1
    ) -> None:
        super().__init__(data, model, shards, local, seed)
        small = model.words * model.hidden < _WORTH_THREADS
        self.hire(1 if small and workers == "auto" else workers, lambda: Network(model))

    def judged(self, model: np.ndarray, held: Split) -> Judged:
        with self.network() as network:
            return Judged.joined([network.judged(model, part) for part in _parts(held)])

    def evaluate(self, model: np.ndarray, split: SplitName) -> Score:
        parts = _parts(getattr(self.data, split))
        return Judged.joined(self.spread(lambda part: self.judged(model, part), parts)).score

    def logits(self, model: np.ndarray, x: np.ndarray) -> np.ndarray:
        with self.network() as network:
            parts = [network.logits(model, x[at : at + _ROWS]) for at in range(0, len(x), _ROWS)]
        return np.concatenate(parts) if parts else np.empty((*x.shape, self.sizes.words), np.float32)

    def gradient(self, model: np.ndarray, held: Split) -> np.ndarray:
        total, asked = np.zeros(len(model), np.float32), max(len(held.targets), 1)
        with self.network() as network:
            for part in _parts(held):
                network.descend(model, total, part, -1 / asked)
        return total

    def train_one(self, model: np.ndarray, own: Split, course: Course, weights: np.ndarray) -> float:
        weights[:] = model
        sgd, losses = make_sgd(weights, self.local), []
        with self.network() as network:
            for rows, rate in zip(course.batches, course.rates, strict=True):
                part = Split(own.x[rows], own.y[rows])
                asked = int(np.count_nonzero(part.y >= 0))
                loss = sgd.step(network, part, float(rate), asked)
                if asked:
                    losses.append(loss / asked)
        return float(np.mean(losses)) if losses else np.nan


def _parts(held: Split) -> list[Split]:
    """A few samples at a time; at least one part, be it empty."""
    return [Split(held.x[at : at + _ROWS], held.y[at : at + _ROWS]) for at in range(0, max(len(held), 1), _ROWS)]
