"""Local training in plain torch, one client after the other on one thread; each worker process runs one of these."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from callup.core.errors import CallupError, InputError
from callup.core.index import Ids
from callup.core.randomness import stream
from callup.partition.scheme import Shards
from callup.simulation.backends.base import SplitName, Trained
from callup.simulation.backends.class_gradients import by_class
from callup.simulation.backends.course import Course
from callup.simulation.backends.measured import Measured, silence
from callup.simulation.backends.mlp import first_weights
from callup.simulation.backends.mlp_backend import check_sizes
from callup.simulation.backends.torch_net import Net, Sgd, import_torch, maker, one_thread, seeded
from callup.simulation.local import LocalTraining
from callup.simulation.task import Data, Mlp, Model, Split

ROWS = 256  # samples at a time: their activations stay in the cache, which is twice as fast as 2,048
"""Scored at a time."""


class TorchOne(Measured):
    """Any `nn.Module`. Signals of the received model are taken in evaluation mode: no dropout, fixed batch-norm."""

    def __init__(self, data: Data, model: Model, shards: Shards, local: LocalTraining, seed: int) -> None:
        super().__init__(data, model, shards, local, seed)
        self._torch = import_torch()
        if isinstance(model, Mlp):
            check_sizes(model.sizes, data)
        with seeded(stream(seed, "init")), _named("cannot be made"):
            self._net = Net(maker(model))
        self._first = self._net.flat()
        shape = self.logits(self._first, data.train.x[:1]).shape
        if shape != (1, data.classes):
            raise InputError(f"the model gives scores of shape {shape} for one sample; expected (1, {data.classes})")

    def init(self) -> np.ndarray:
        if isinstance(self.model, Mlp):
            return first_weights(self.model.sizes, stream(self.seed, "init"))
        return self._first.copy()

    def logits(self, model: np.ndarray, x: np.ndarray) -> np.ndarray:
        self._net.load(model)
        self._net.module.eval()
        with one_thread(), self._torch.no_grad(), _named("failed on given samples"):
            parts = [self._net.module(self._tensor(x[at : at + ROWS])).numpy() for at in range(0, len(x), ROWS)]
        return np.concatenate(parts) if parts else np.empty((0, self.data.classes), np.float32)

    def logits_of(self, model: np.ndarray, split: SplitName, at: int) -> np.ndarray:
        """Class scores of so many rows of a split as are scored at a time, from this one on."""
        held: Split = getattr(self.data, split)
        return self.logits(model, held.x[at : at + ROWS])

    def gradient(self, model: np.ndarray, held: Split) -> np.ndarray:
        self._pull(model, held)
        return self._net.gradient()

    def class_gradients(self, models: np.ndarray, held: Split) -> np.ndarray:
        parts = by_class(held, self.data.classes)
        out = np.empty((len(models), len(parts)))
        for row, model in enumerate(models):
            for label, part in enumerate(parts):
                self._pull(model, part)
                with one_thread():
                    out[row, label] = self._net.mean_squares()
        return out

    def class_gradients_of(self, models: np.ndarray, rows: list[int], held: Split) -> np.ndarray:
        """The same for some of the models: what one process of several does."""
        return self.class_gradients(models[rows], held)

    def _pull(self, model: np.ndarray, held: Split) -> None:
        """Leaves the gradient of the mean loss over these samples in the module."""
        self._net.load(model)
        self._net.module.eval()
        self._net.forget_gradient()
        with one_thread(), _named("failed on given samples"):
            for at in range(0, len(held), ROWS):
                scores = self._net.module(self._tensor(held.x[at : at + ROWS]))
                total = self._loss(scores, held.y[at : at + ROWS], reduction="sum") / len(held)
                total.backward()

    def train(self, model: np.ndarray, ids: Ids, index: int, rates: np.ndarray, wants: Collection[str]) -> Trained:
        models = np.empty((len(ids), len(model)), np.float32)
        steps, heard = np.empty(len(ids), np.int64), silence(len(ids), model, wants)
        for row, client in enumerate(ids):
            own, course = self.samples(client), self.course(client, index, rates[row])
            luck = seeded(stream(self.seed, "torch", index, int(client)))  # dropout and the like
            with one_thread(), luck, _named(f"failed on client {client} in round {index}"):
                models[row], train_loss = self._train_one(model, own, course)
            steps[row] = len(course)
            self.measure(model, own, row, heard)
            if "train_loss" in heard:
                heard["train_loss"][row] = train_loss
        return Trained(models, steps, heard)

    def _train_one(self, model: np.ndarray, own: Split, course: Course) -> tuple[np.ndarray, float]:
        """The local model and the mean of its mini-batch losses."""
        net = self._net
        net.load(model)
        net.module.train()
        sgd = Sgd(net, self.local)
        losses = []
        for step, rows in enumerate(course.batches):
            net.forget_gradient()
            loss = self._loss(net.module(self._tensor(course.inputs(own.x, step))), own.y[rows])
            loss.backward()
            sgd.descend(float(course.rates[step]))
            losses.append(loss.item())
        return net.flat(), float(np.mean(losses)) if losses else np.nan

    def _loss(self, scores: Any, y: np.ndarray, reduction: str = "mean") -> Any:
        return self._torch.nn.functional.cross_entropy(scores, self._tensor(y.astype(np.int64)), reduction=reduction)

    def _tensor(self, array: np.ndarray) -> Any:
        # A copy: a module may change its input in place, and the data belongs to all.
        return self._torch.tensor(array)


@contextmanager
def _named(what: str) -> Iterator[None]:
    """A module is somebody's own code: what it raises becomes one sentence, with the cause behind it."""
    try:
        yield
    except CallupError:
        raise
    except Exception as error:
        raise InputError(f"the model {what}: {type(error).__name__}: {str(error).splitlines()[0]}") from error
