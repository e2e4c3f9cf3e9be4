"""The workbench: what the server can measure of the replies on held-out data, each thing once a round."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from callup.core.errors import ContractError, InputError
from callup.core.types import Replies

Model = np.ndarray
"""A flat vector of weights."""


class ModelBench:
    """Scores any average of any replies; answers are kept, so asking twice costs nothing.

    A runtime makes one for each round and shares it among the filter and the signals computed at the server. It
    gives `logits`, from a model to (samples, classes) on the validation set whose `labels` it also gives, and
    `combine`, from rows of the replies to the model their average would be. Nothing runs before it is asked for.
    """

    def __init__(
        self,
        replies: Replies,
        logits: Callable[[Model], np.ndarray],
        labels: np.ndarray,
        combine: Callable[[np.ndarray], Model],
    ) -> None:
        if np.ndim(labels) != 1 or len(labels) == 0 or labels.dtype.kind not in "iu" or labels.min() < 0:
            raise InputError("the workbench needs a validation set with at least one sample and whole-number labels")
        self._replies, self._logits, self._combine = replies, logits, combine
        self._labels = _read_only(labels)
        self._own: dict[int, np.ndarray] = {}
        self._scores: dict[frozenset[int], tuple[float, float]] = {}
        self.passes = 0
        """Models run over the validation set so far: the work done at the server."""

    @property
    def labels(self) -> np.ndarray:
        return self._labels

    def logits(self, row: int) -> np.ndarray:
        row = int(self._rows(np.array([row]))[0])
        if row not in self._own:
            self._own[row] = _read_only(self._run(self._replies.models[row]))
        return self._own[row]

    def loss(self, rows: np.ndarray) -> float:
        return self._score(rows)[0]

    def accuracy(self, rows: np.ndarray) -> float:
        return self._score(rows)[1]

    def _score(self, rows: np.ndarray) -> tuple[float, float]:
        chosen = self._rows(rows)
        key = frozenset(chosen.tolist())
        if key not in self._scores:
            model = self._combine(chosen) if len(chosen) else self._replies.start
            # Most rules leave a single reply as it is; its logits may be here already, and if not they will be.
            alone = len(chosen) == 1 and np.array_equal(model, self._replies.models[chosen[0]])
            self._scores[key] = score(self.logits(int(chosen[0])) if alone else self._run(model), self._labels)
        return self._scores[key]

    def _rows(self, rows: np.ndarray) -> np.ndarray:
        """The rows as a set, sorted: who is averaged matters, not in what order they were named."""
        given = np.asarray(rows)
        if given.size and (given.ndim != 1 or given.dtype.kind not in "iu"):
            raise ContractError(f"the workbench takes rows by number, not a mask: got {given.dtype} {given.shape}")
        chosen = np.unique(given.astype(np.intp))
        count = len(self._replies.ids)
        if len(chosen) and not 0 <= chosen[0] <= chosen[-1] < count:
            raise ContractError(f"rows of {count} replies run from 0 to {count - 1}, got {chosen.tolist()}")
        return chosen

    def _run(self, model: Model) -> np.ndarray:
        self.passes += 1
        out = np.asarray(self._logits(model))
        if out.ndim != 2 or len(out) != len(self._labels) or out.shape[1] <= self._labels.max():
            raise ContractError(
                f"logits have shape {out.shape} for {len(self._labels)} labels up to {self._labels.max()}"
            )
        return out


def score(logits: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Mean cross-entropy and accuracy of class scores; a sample whose scores are not finite costs inf and is wrong."""
    sound = np.isfinite(logits).all(axis=1)
    values = np.where(sound[:, None], logits, 0.0).astype(np.float64)
    values -= values.max(axis=1, keepdims=True)
    losses = np.log(np.exp(values).sum(axis=1)) - values[np.arange(len(labels)), labels]
    right = sound & (values.argmax(axis=1) == labels)
    return float(np.where(sound, losses, np.inf).mean()), float(right.mean())


def _read_only(array: np.ndarray) -> np.ndarray:
    view = np.asarray(array).view()
    view.setflags(write=False)
    return view
