"""Clients that step together, in one process: each worker of the batched backend runs one of these."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from callup.core.index import Ids
from callup.partition.scheme import Shards
from callup.simulation.backends.base import SplitName, Trained
from callup.simulation.backends.input_layer import Direct, InputLayer
from callup.simulation.backends.lockstep import Lockstep, is_plain
from callup.simulation.backends.measured import Measured, silence
from callup.simulation.backends.mlp import layers
from callup.simulation.backends.mlp_backend import ROWS, MlpBackend, flat_rows
from callup.simulation.backends.space import Space
from callup.simulation.backends.spanned import Spanned, SpannedAndShare
from callup.simulation.backends.timetable import Timetable
from callup.simulation.local import LocalTraining
from callup.simulation.task import Data, Model, Split

_MOST_BYTES = 256 * 2**20  # of inner products kept from round to round


class BatchedOne(MlpBackend):
    """One group of clients at a time, and so many rows of a split."""

    def __init__(self, data: Data, model: Model, shards: Shards, local: LocalTraining, seed: int) -> None:
        super().__init__(data, model, shards, local, seed)
        self._space = Space()
        self._grams: dict[int, np.ndarray] = {}
        self._room = _MOST_BYTES

    def train_group(
        self, model: np.ndarray, ids: Ids, index: int, rates: np.ndarray, wants: Collection[str], spanned: bool
    ) -> Trained:
        """Local training of clients that all hold samples, most steps first, in one form of the first layer.

        The models are gone with the next group.
        """
        heard = silence(len(ids), model, wants)
        courses = [self.course(client, index, row) for client, row in zip(ids, rates, strict=True)]
        held = self._held(ids)
        table = Timetable.of(courses, [own.y for own in held], blank=len(held[0]) if spanned else 0)
        with np.errstate(over="ignore", invalid="ignore"):  # a diverged client is told by its model
            first = self._input_layer(model, ids, held, table, spanned)
            together = Lockstep(
                model, self.sizes, self.local, table, first, self._space, with_loss="train_loss" in heard
            )
            models, train_loss = together.run()
            for row, own in enumerate(held):
                self.measure(model, own, row, heard)
        if "train_loss" in heard:
            heard["train_loss"] = train_loss
        return Trained(models, np.array([len(course) for course in courses], np.int64), heard)

    def probe_here(self, model: np.ndarray, name: str, ids: Ids, index: int) -> np.ndarray:
        """What these clients say of a model, measured in this process."""
        return Measured.probe(self, model, name, ids, index)

    def logits_of(self, model: np.ndarray, split: SplitName, at: int) -> np.ndarray:
        """Class scores of so many rows of a split as are scored at a time, from this one on."""
        held: Split = getattr(self.data, split)
        return self.logits(model, held.x[at : at + ROWS])

    def _held(self, ids: Ids) -> list[Split]:
        """The samples of each client, side by side where those of the last group were."""
        x, y = self.data.train.x, self.data.train.y
        rows = [self.rows(client) for client in ids]
        ends = np.cumsum([len(own) for own in rows])
        room = self._space.floats("samples", ends[-1], *x.shape[1:]) if x.dtype == np.float32 else None
        gathered = np.take(x, np.concatenate(rows), axis=0, out=room, mode="clip")
        return [Split(own, y[at]) for own, at in zip(np.split(gathered, ends[:-1]), rows, strict=True)]

    def _input_layer(
        self, model: np.ndarray, ids: Ids, held: list[Split], table: Timetable, spanned: bool
    ) -> InputLayer:
        start = layers(model, self.sizes)[0][0]
        if not spanned:
            return Direct(start, [own.x for own in held], table, self._space)
        x = [flat_rows(own.x) for own in held]
        grams = [self._gram(int(client), own) for client, own in zip(ids, x, strict=True)]
        return (Spanned if is_plain(self.local) else SpannedAndShare)(start, x, grams, table, self._space)

    def _gram(self, client: int, x: np.ndarray) -> np.ndarray:
        """Inner products of a client's samples: they never change, so they are kept while there is room."""
        if client in self._grams:
            return self._grams[client]
        gram = np.asarray(x @ x.T)
        if gram.nbytes <= self._room:
            self._room -= gram.nbytes
            self._grams[client] = gram
        return gram
