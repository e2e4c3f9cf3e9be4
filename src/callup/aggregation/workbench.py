"""The workbench: what the server can measure of the replies on held-out data, each thing once a round."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from callup.core.types import Replies


class ModelBench:
    """Scores any average of any replies; answers are kept, so asking twice costs nothing."""

    def __init__(
        self,
        replies: Replies,
        logits: Callable[[np.ndarray], np.ndarray],
        labels: np.ndarray,
        combine: Callable[[np.ndarray], np.ndarray],
    ) -> None:
        self._replies, self._logits, self._labels, self._combine = replies, logits, labels, combine
        self._own: dict[int, np.ndarray] = {}
        self._scores: dict[frozenset[int], tuple[float, float]] = {}

    @property
    def labels(self) -> np.ndarray:
        return self._labels

    def logits(self, row: int) -> np.ndarray:
        if row not in self._own:
            self._own[row] = self._logits(self._replies.models[row])
        return self._own[row]

    def loss(self, rows: np.ndarray) -> float:
        return self._score(rows)[0]

    def accuracy(self, rows: np.ndarray) -> float:
        return self._score(rows)[1]

    def _score(self, rows: np.ndarray) -> tuple[float, float]:
        key = frozenset(np.asarray(rows).tolist())
        if key not in self._scores:
            model = self._combine(np.sort(np.asarray(rows, np.intp))) if key else self._replies.start
            self._scores[key] = score(self._logits(model), self._labels)
        return self._scores[key]


def score(logits: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Mean cross-entropy and accuracy of class scores."""
    shifted = logits.astype(np.float64) - logits.max(axis=1, keepdims=True)
    log_share = shifted[np.arange(len(labels)), labels] - np.log(np.exp(shifted).sum(axis=1))
    return float(-log_share.mean()), float((logits.argmax(axis=1) == labels).mean())
