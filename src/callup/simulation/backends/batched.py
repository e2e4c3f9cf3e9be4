"""All chosen clients at once in batched products: the backend that needs no torch and is fast on small networks."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from callup.core.index import Ids
from callup.partition.scheme import Shards
from callup.simulation.backends.base import Trained
from callup.simulation.backends.course import Course
from callup.simulation.backends.grouping import Group, group_clients
from callup.simulation.backends.input_layer import Direct, Spanned
from callup.simulation.backends.lockstep import Lockstep
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
        held = [self.samples(client) for client in ids]
        courses = [self.course(client, index, row) for client, row in zip(ids, rates, strict=True)]
        models = np.empty((len(ids), len(model)), np.float32)
        models[[len(own) == 0 for own in held]] = model
        train_loss = np.full(len(ids), np.nan)
        with np.errstate(over="ignore", invalid="ignore"):  # a diverged client is told by its model
            for group in group_clients([len(own) for own in held], self.local, self.largest, self.sizes):
                models[group.members], train_loss[group.members] = self._together(model, group, ids, held, courses)
            signals = self.before(model, held, wants)
        if "train_loss" in wants:
            signals["train_loss"] = train_loss
        return Trained(models, np.array([len(course) for course in courses], np.int64), signals)

    def _together(
        self, model: np.ndarray, group: Group, ids: Ids, held: list[Split], courses: list[Course]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Local models and mean losses of one group."""
        start = layers(model, self.sizes)[0][0]
        own = [held[i] for i in group.members]
        blank = len(own[0]) if group.spanned else 0
        table = Timetable.of([courses[i] for i in group.members], [split.y for split in own], blank)
        first: Direct | Spanned
        if group.spanned:
            x = [flat_rows(split.x) for split in own]
            grams = [self._gram(int(ids[i]), rows) for i, rows in zip(group.members, x, strict=True)]
            first = Spanned(start, x, grams, table)
        else:
            first = Direct(start, [split.x for split in own], table)
        return Lockstep(model, self.sizes, self.local, table, first).run()

    def _gram(self, client: int, x: np.ndarray) -> np.ndarray:
        """Inner products of a client's samples: they never change, so they are kept while there is room."""
        if client in self._grams:
            return self._grams[client]
        gram = np.asarray(x @ x.T)
        if gram.nbytes <= self._room:
            self._room -= gram.nbytes
            self._grams[client] = gram
        return gram
