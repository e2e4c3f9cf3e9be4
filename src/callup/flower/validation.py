"""What the server may judge replies by: held-out data of its own, or the function that evaluates the global model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from flwr.app import ArrayRecord, MetricRecord

from callup.aggregation.workbench import ModelBench
from callup.core.errors import InputError, UsageError
from callup.core.selector import Workbench
from callup.core.types import Replies
from callup.flower.models import shaped

Combine = Callable[[np.ndarray], np.ndarray]


class Judgement(Protocol):
    """Makes the workbench of one round."""

    def bench(self, replies: Replies, like: ArrayRecord, combine: Combine) -> Workbench: ...


@dataclass(frozen=True)
class Validation:
    """Held-out data at the server: the class scores of any model on it, and the true labels."""

    logits: Callable[[ArrayRecord], np.ndarray]
    """From a model to (samples, classes)."""
    labels: np.ndarray
    class_gradients: Callable[[ArrayRecord], np.ndarray] | None = None
    """From a model to one number for each class: the mean squared gradient on held-out samples of it. For fed-cucb."""

    def bench(self, replies: Replies, like: ArrayRecord, combine: Combine) -> Workbench:
        labels = np.asarray(self.labels)
        return ModelBench(replies, lambda vector: self.logits(shaped(vector, like)), labels, combine)


@dataclass(frozen=True)
class Evaluation:
    """The `evaluate_fn` of a Flower app as a judge: enough for contributions, not for filters that read class scores.

    Its metrics must hold `loss` or `accuracy`, whichever is asked for; other names can be given.
    """

    evaluate: Callable[[int, ArrayRecord], MetricRecord | None]
    loss: str = "loss"
    accuracy: str = "accuracy"

    def bench(self, replies: Replies, like: ArrayRecord, combine: Combine) -> Workbench:
        return _EvaluationBench(self, replies, like, combine)


class _EvaluationBench:
    """Scores any average of any replies; answers are kept, so asking twice costs nothing."""

    def __init__(self, by: Evaluation, replies: Replies, like: ArrayRecord, combine: Combine) -> None:
        self._by, self._replies, self._like, self._combine = by, replies, like, combine
        self._known: dict[frozenset[int], MetricRecord] = {}

    @property
    def labels(self) -> np.ndarray:
        raise UsageError("an evaluate_fn tells no labels; give Selecting(..., validation=Validation(logits, labels))")

    def logits(self, row: int) -> np.ndarray:
        raise UsageError(
            f"an evaluate_fn tells no class scores (asked for those of reply {row}); "
            f"give Selecting(..., validation=Validation(logits, labels))"
        )

    def loss(self, rows: np.ndarray) -> float:
        return self._score(rows, self._by.loss)

    def accuracy(self, rows: np.ndarray) -> float:
        return self._score(rows, self._by.accuracy)

    def _score(self, rows: np.ndarray, name: str) -> float:
        key = frozenset(int(row) for row in rows)
        if key not in self._known:
            model = self._combine(np.array(sorted(key), np.intp)) if key else self._replies.start
            self._known[key] = self._by.evaluate(0, shaped(model, self._like)) or MetricRecord()
        value = self._known[key].get(name)
        if not isinstance(value, (int, float)) or not np.isfinite(value):
            raise InputError(f"evaluate_fn must report '{name}' as a finite number, got {value!r}")
        return float(value)
