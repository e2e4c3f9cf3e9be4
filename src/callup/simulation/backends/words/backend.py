"""What the two next-word backends share: first weights, and answers that count words, not samples."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from callup.core.errors import InputError
from callup.core.randomness import stream
from callup.partition.scheme import Shards
from callup.simulation.backends.base import Score, SplitName
from callup.simulation.backends.measured import Measured
from callup.simulation.backends.words.weights import check_words, first_weights
from callup.simulation.local import LocalTraining
from callup.simulation.task import Data, Split, WordLstm


@dataclass(frozen=True)
class Judged:
    """For each word asked, in order: its cross-entropy, and whether it had the highest score."""

    losses: np.ndarray
    right: np.ndarray

    @classmethod
    def joined(cls, parts: list[Judged]) -> Judged:
        return cls(np.concatenate([part.losses for part in parts]), np.concatenate([part.right for part in parts]))

    @property
    def score(self) -> Score:
        """Means over the words; without any there is nothing to tell."""
        if len(self.losses) == 0:
            return Score(np.nan, np.nan, np.empty(0))
        return Score(float(self.losses.mean(dtype=np.float64)), float(self.right.mean()), np.empty(0))


class WordsBackend(Measured):
    """Losses and accuracies are means over the words asked; padding and unknown words are not asked.

    Texts have no classes, so there is no recall, and no pull of a class at the model.
    """

    def __init__(self, data: Data, model: WordLstm, shards: Shards, local: LocalTraining, seed: int) -> None:
        check_words(model, data)
        super().__init__(data, model, shards, local, seed)
        self.sizes = model

    def init(self) -> np.ndarray:
        return first_weights(self.sizes, stream(self.seed, "init"))

    @abstractmethod
    def judged(self, model: np.ndarray, held: Split) -> Judged:
        """How the model does at each word asked."""

    def scores(self, model: np.ndarray, held: Split) -> np.ndarray:
        return np.asarray(self.logits(model, held.x)[held.y >= 0])

    def measure(self, model: np.ndarray, own: Split, row: int, heard: dict[str, np.ndarray]) -> None:
        if len(own.targets) == 0:
            return
        if heard.keys() & {"loss", "loss_rms", "accuracy"}:
            found = self.judged(model, own)
            each = found.losses.astype(np.float64)
            told = {"loss": each.mean(), "loss_rms": np.sqrt(np.mean(each**2)), "accuracy": found.right.mean()}
            for name in heard.keys() & told.keys():
                heard[name][row] = told[name]
        if "gradient" in heard:
            heard["gradient"][row] = self.gradient(model, own)

    def evaluate(self, model: np.ndarray, split: SplitName) -> Score:
        return self.judged(model, getattr(self.data, split)).score

    def class_gradients(self, models: np.ndarray, held: Split) -> np.ndarray:  # noqa: ARG002
        raise InputError("texts have no classes: a selector that needs class_gradients cannot run on a next-word task")
