"""A task: real data in three splits, a model and the way clients train it by default."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from callup.core.registry import Card, Registry
from callup.simulation.local import LocalTraining


@dataclass(frozen=True)
class Split:
    """Inputs (float32, one sample a row) and whole-number labels."""

    x: np.ndarray
    y: np.ndarray

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True)
class Data:
    """Clients hold `train`; choices are made on `validation`; `test` only reports."""

    train: Split
    validation: Split
    test: Split
    classes: int


@dataclass(frozen=True)
class Mlp:
    """Fully connected layers with ReLU between them: (784, 64, 10); (784, 10) is softmax regression."""

    sizes: tuple[int, ...]


@dataclass(frozen=True)
class Module:
    """Any `torch.nn.Module`: a function without arguments that makes one. Needs the torch backend."""

    make: Callable[[], Any]


Model = Mlp | Module


@dataclass(frozen=True)
class Loaded:
    """A task ready to run."""

    data: Data
    model: Model
    local: LocalTraining


class Task:
    """A named task; `load` reads the data, once per process."""

    card: ClassVar[Card]

    def load(self) -> Loaded:
        raise NotImplementedError


TASKS: Registry[Task] = Registry("task", "callup.simulation.tasks")
