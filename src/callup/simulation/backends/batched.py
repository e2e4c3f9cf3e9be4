"""All chosen clients at once in batched products: the backend that needs no torch and is fast on small networks."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from callup.core.index import Ids
from callup.partition.scheme import Shards
from callup.simulation.backends.base import Trained
from callup.simulation.backends.class_gradients import batched_mean_squares, by_class
from callup.simulation.backends.grouping import group_clients
from callup.simulation.backends.input_layer import Direct, Spanned
from callup.simulation.backends.lockstep import Lockstep
from callup.simulation.backends.measured import silence
from callup.simulation.backends.mlp import layers
from callup.simulation.backends.mlp_backend import MlpBackend, flat_rows
from callup.simulation.backends.timetable import Timetable
from callup.simulation.local import LocalTraining
from callup.simulation.task import Data, Model, Split

_MOST_BYTES = 256 * 2**20  # of inner products kept from round to round


class Batched(MlpBackend):
    """Softmax regression and multilayer perceptrons, many clients in one step."""

    def __init__(self, data: Data, model: Model, shards: Shards, local: LocalTraining, seed: int) -> None:
        super().__init__(data, model, shards, local, seed)
        self._grams: dict[int, np.ndarray] = {}
        self._room = _MOST_BYTES

    def train(self, model: np.ndarray, ids: Ids, index: int, rates: np.ndarray, wants: Collection[str]) -> Trained:
        model = model.astype(np.float32)
        models = np.empty((len(ids), len(model)), np.float32)
        sizes = [len(self.rows(client)) for client in ids]
        models[np.equal(sizes, 0)] = model
        heard, train_loss = silence(len(ids), model, wants), np.full(len(ids), np.nan)
        courses = [self.course(client, index, row) for client, row in zip(ids, rates, strict=True)]
        with np.errstate(over="ignore", invalid="ignore"):  # a diverged client is told by its model
            for group in group_clients(sizes, self.local, self.largest, self.sizes):
                held = [self.samples(ids[row]) for row in group.members]
                table = Timetable.of(
                    [courses[row] for row in group.members],
                    [own.y for own in held],
                    blank=len(held[0]) if group.spanned else 0,
                )
                first = self._input_layer(model, ids[group.members], held, table, group.spanned)
                together = Lockstep(model, self.sizes, self.local, table, first)
                models[group.members], train_loss[group.members] = together.run()
                for row, own in zip(group.members, held, strict=True):
                    self.measure(model, own, row, heard)
        if "train_loss" in heard:
            heard["train_loss"] = train_loss
        return Trained(models, np.array([len(course) for course in courses], np.int64), heard)

    def class_gradients(self, models: np.ndarray, held: Split) -> np.ndarray:
        parts = by_class(held, self.data.classes)
        models = np.asarray(models, np.float32)
        with np.errstate(over="ignore", invalid="ignore"):  # a diverged model is told by its gradients
            pulls = [batched_mean_squares(models, self.sizes, flat_rows(p.x), b) for b, p in enumerate(parts)]
        return np.stack(pulls, axis=1)

    def _input_layer(
        self, model: np.ndarray, ids: Ids, held: list[Split], table: Timetable, spanned: bool
    ) -> Direct | Spanned:
        start = layers(model, self.sizes)[0][0]
        if not spanned:
            return Direct(start, [own.x for own in held], table)
        x = [flat_rows(own.x) for own in held]
        return Spanned(start, x, [self._gram(int(client), own) for client, own in zip(ids, x, strict=True)], table)

    def _gram(self, client: int, x: np.ndarray) -> np.ndarray:
        """Inner products of a client's samples: they never change, so they are kept while there is room."""
        if client in self._grams:
            return self._grams[client]
        gram = np.asarray(x @ x.T)
        if gram.nbytes <= self._room:
            self._room -= gram.nbytes
            self._grams[client] = gram
        return gram
