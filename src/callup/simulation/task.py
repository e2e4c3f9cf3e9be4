"""A task: real data in three splits, a model and the way clients train it by default."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from callup.core.errors import UsageError
from callup.core.registry import Card, Registry
from callup.simulation.local import LocalTraining


@dataclass(frozen=True)
class Split:
    """Inputs (float32, one sample a row; pictures as channels, height, width) and whole-number labels.

    A sample of text is a row of word numbers in `x` and, at the same places of `y`, the word that follows each; -1
    where nothing is asked.
    """

    x: np.ndarray
    y: np.ndarray

    def __len__(self) -> int:
        return len(self.y)

    @property
    def targets(self) -> np.ndarray:
        """All that is asked, one after the other: the label of each sample, or each word to be told of a text."""
        return self.y if self.y.ndim == 1 else self.y[self.y >= 0]

    @property
    def labels(self) -> np.ndarray:
        """The class of each sample, for partitions and class counts. Texts have none: all are of class 0."""
        return self.y if self.y.ndim == 1 else np.zeros(len(self.y), np.int64)

    def flat(self) -> Split:
        """Each sample as one row of numbers."""
        return Split(self.x.reshape(len(self.x), -1), self.y)


@dataclass(frozen=True)
class Data:
    """Clients hold `train`; choices are made on `validation`; `test` only reports."""

    train: Split
    validation: Split
    test: Split
    classes: int
    owners: np.ndarray | None = None
    """Whose each training sample is, as whole numbers; None where nobody is known."""

    def flat(self) -> Data:
        """The same samples, each as one row of numbers: a view, not a copy."""
        return replace(self, train=self.train.flat(), validation=self.validation.flat(), test=self.test.flat())


@dataclass(frozen=True)
class Mlp:
    """Fully connected layers with ReLU between them: (784, 64, 10); (784, 10) is softmax regression."""

    sizes: tuple[int, ...]


@dataclass(frozen=True)
class Module:
    """Any `torch.nn.Module`: a function without arguments that makes one. Needs the torch backend."""

    make: Callable[[], Any]
    """Importable by name, because worker processes fetch it themselves."""


@dataclass(frozen=True)
class WordLstm:
    """Tells the next word at every place of a text: an embedding, stacked LSTM layers, then a score for each word."""

    words: int
    embedding: int = 200
    hidden: int = 200
    layers: int = 2


Model = Mlp | Module | WordLstm


@dataclass(frozen=True)
class Loaded:
    """A task ready to run."""

    data: Data
    model: Model
    local: LocalTraining


@dataclass(frozen=True)
class Holdings:
    """What a partition sees of the training set."""

    labels: np.ndarray
    classes: int
    owners: np.ndarray | None = None


class Task(ABC):
    """A named task; `load` reads the data, once per process. All runs share its arrays, which are read-only."""

    card: ClassVar[Card]

    @abstractmethod
    def load(self) -> Loaded:
        """Data, model and default local training."""

    def holdings(self) -> Holdings:
        """Labels and owners of the training set; a task whose inputs are large reads no more than these."""
        data = self.load().data
        return Holdings(data.train.labels, data.classes, data.owners)


def mlp(data: Data, hidden: int) -> Mlp:
    """One hidden layer of this width over flat data; width 0 is softmax regression."""
    if hidden < 0:
        raise UsageError(f"hidden must be a width of at least 1, or 0 for no hidden layer, got {hidden}")
    return Mlp((data.train.x.shape[1], *([hidden] if hidden else []), data.classes))


TASKS: Registry[Task] = Registry("task", "callup.simulation.tasks")
