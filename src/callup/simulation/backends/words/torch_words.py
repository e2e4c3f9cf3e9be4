"""Next-word prediction in plain torch, one client after the other on one thread: what the fast path is checked against.

It reads like the textbook: an embedding, `nn.LSTM`, a linear layer, cross-entropy, one SGD step for each mini-batch.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any

import numpy as np

from callup.core.index import Ids
from callup.partition.scheme import Shards
from callup.simulation.backends.base import Trained
from callup.simulation.backends.course import Course
from callup.simulation.backends.measured import silence
from callup.simulation.backends.torch_net import Net, Sgd, import_torch, one_thread, seeded
from callup.simulation.backends.words.backend import Judged, WordsBackend
from callup.simulation.local import LocalTraining
from callup.simulation.task import Data, Split, WordLstm

_ROWS = 64  # samples scored at a time


class TorchWords(WordsBackend):
    """One module, filled again for every client."""

    def __init__(self, data: Data, model: WordLstm, shards: Shards, local: LocalTraining, seed: int) -> None:
        super().__init__(data, model, shards, local, seed)
        self._torch = import_torch()
        with seeded(np.random.default_rng(0)):  # its weights are not used, and torch's own randomness is left alone
            self._net = Net(partial(make_module, model))

    def logits(self, model: np.ndarray, x: np.ndarray) -> np.ndarray:
        self._net.load(model)
        with one_thread(), self._torch.no_grad():
            parts = [self._scores(x[at : at + _ROWS]).numpy() for at in range(0, len(x), _ROWS)]
        return np.concatenate(parts) if parts else np.empty((*x.shape, self.sizes.words), np.float32)

    def judged(self, model: np.ndarray, held: Split) -> Judged:
        scores = self._torch.from_numpy(self.scores(model, held))
        wanted = self._torch.from_numpy(held.targets.astype(np.int64))
        with one_thread():
            losses = self._torch.nn.functional.cross_entropy(scores, wanted, reduction="none")
            return Judged(losses.numpy(), (scores.argmax(dim=1) == wanted).numpy())

    def gradient(self, model: np.ndarray, held: Split) -> np.ndarray:
        self._net.load(model)
        self._net.forget_gradient()
        asked = max(len(held.targets), 1)
        with one_thread():
            for at in range(0, len(held), _ROWS):
                (self._loss(held.x[at : at + _ROWS], held.y[at : at + _ROWS]) / asked).backward()
        return self._net.gradient()

    def train(self, model: np.ndarray, ids: Ids, index: int, rates: np.ndarray, wants: Collection[str]) -> Trained:
        models = np.empty((len(ids), len(model)), np.float32)
        steps, heard = np.empty(len(ids), np.int64), silence(len(ids), model, wants)
        for row, client in enumerate(ids):
            own, course = self.samples(client), self.course(client, index, rates[row])
            with one_thread():
                models[row], train_loss = self._train_one(model, own, course)
            steps[row] = len(course)
            self.measure(model, own, row, heard)
            if "train_loss" in heard:
                heard["train_loss"][row] = train_loss
        return Trained(models, steps, heard)

    def _train_one(self, model: np.ndarray, own: Split, course: Course) -> tuple[np.ndarray, float]:
        """The local model and the mean of its mini-batch losses."""
        self._net.load(model)
        sgd = Sgd(self._net, self.local)
        losses = []
        for rows, rate in zip(course.batches, course.rates, strict=True):
            self._net.forget_gradient()
            asked = int(np.count_nonzero(own.y[rows] >= 0))
            loss = self._loss(own.x[rows], own.y[rows]) / max(asked, 1)
            loss.backward()
            sgd.descend(float(rate))
            if asked:
                losses.append(loss.item())
        return self._net.flat(), float(np.mean(losses)) if losses else np.nan

    def _loss(self, x: np.ndarray, y: np.ndarray) -> Any:
        """The sum over the words asked."""
        wanted = self._torch.from_numpy(y.astype(np.int64)).flatten()
        scores = self._scores(x).flatten(0, 1)
        return self._torch.nn.functional.cross_entropy(scores, wanted, ignore_index=-1, reduction="sum")

    def _scores(self, x: np.ndarray) -> Any:
        return self._net.module(self._torch.from_numpy(x.astype(np.int64)))


def make_module(model: WordLstm) -> Any:
    """The same network, and the same flat vector, as the numpy backend has."""
    nn = import_torch().nn

    class NextWord(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(model.words, model.embedding)
            self.lstm = nn.LSTM(model.embedding, model.hidden, model.layers, batch_first=True)
            self.out = nn.Linear(model.hidden, model.words)

        def forward(self, x: Any) -> Any:
            return self.out(self.lstm(self.embedding(x))[0])

    return NextWord()
