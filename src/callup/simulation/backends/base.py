"""What the engine asks of a backend: first weights, answers to probes, local training, scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from callup.core.errors import InputError
from callup.core.index import Ids
from callup.core.randomness import stream
from callup.partition.scheme import Shards
from callup.simulation.augment import draw_moves
from callup.simulation.backends.course import Course
from callup.simulation.local import LocalTraining
from callup.simulation.task import Data, Model, Split

SplitName = Literal["validation", "test"]


@dataclass(frozen=True)
class Trained:
    """Local models as flat float32 rows, the steps each took, and the signals that were wanted."""

    models: np.ndarray
    local_steps: np.ndarray
    signals: dict[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class Score:
    """How a model does on one split; `recall` is the accuracy on each class, NaN where a class has no sample."""

    loss: float
    accuracy: float
    recall: np.ndarray


class Backend(ABC):
    """Trains and scores one federation. Models are flat float32 vectors; the same seed gives the same floats."""

    def __init__(self, data: Data, model: Model, shards: Shards, local: LocalTraining, seed: int) -> None:
        self.data, self.model, self.shards, self.local, self.seed = data, model, shards, local, seed
        self.largest = int(shards.sizes.max())
        self._row_of = {int(client): row for row, client in enumerate(shards.ids)}

    @abstractmethod
    def init(self) -> np.ndarray:
        """The first global model, from stream(seed, "init")."""

    @abstractmethod
    def probe(self, model: np.ndarray, name: str, ids: Ids, index: int) -> np.ndarray:
        """`loss`, `accuracy` (n,), `batch_loss` (n,) or `gradient` (n, d) of the model on each client's data.

        NaN, which is silence, where a client holds no samples.
        """

    @abstractmethod
    def train(self, model: np.ndarray, ids: Ids, index: int, rates: np.ndarray, wants: Collection[str]) -> Trained:
        """Local training of these clients in round `index`; `rates` is LocalTraining.rates for them.

        `wants` names signals to bring back: loss, loss_rms, accuracy, train_loss, gradient; others are not the
        backend's to measure and are passed over. All but train_loss are of the received model, before training.
        A client without samples returns the received model after no steps, and NaN for every signal.
        """

    @abstractmethod
    def logits(self, model: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Class scores before softmax for each row of x."""

    def scores(self, model: np.ndarray, held: Split) -> np.ndarray:
        """A row of scores before softmax for each of the split's targets."""
        return self.logits(model, held.x)

    @abstractmethod
    def evaluate(self, model: np.ndarray, split: SplitName) -> Score:
        """Loss, accuracy and recall on the validation or the test set."""

    @abstractmethod
    def class_gradients(self, models: np.ndarray, held: Split) -> np.ndarray:
        """How hard each class pulls at each model, (n, d) -> (n, classes).

        The entry for class b is the sum, over the tensors of weights, of the mean squared gradient of the cross-entropy
        on the samples of class b. Not finite where a model's scores are not. A class without samples is refused.
        """

    def close(self) -> None:  # noqa: B027
        """Ends worker processes, where there are any."""

    def samples(self, client: int) -> Split:
        """The client's own data."""
        rows = self.rows(client)
        return Split(self.data.train.x[rows], self.data.train.y[rows])

    def rows(self, client: int) -> np.ndarray:
        """Where the client's samples are in the training set."""
        if int(client) not in self._row_of:
            raise InputError(f"unknown client {client}")
        return self.shards.rows[self._row_of[int(client)]]

    def schedule(self, client: int, index: int) -> list[np.ndarray]:
        """Mini-batches of one client in one round; the same for every backend and every selector."""
        size = len(self.rows(client))
        return self.local.batches(size, self.largest, stream(self.seed, "batches", index, int(client)))

    def course(self, client: int, index: int, rates: np.ndarray) -> Course:
        """The schedule with the rate of each step (`rates` is per local epoch) and the augmentation's draws."""
        batches = self.schedule(client, index)
        steps = np.arange(len(batches))
        # With equal steps an epoch is the same share of the steps for all, however often a small client goes round.
        spread = np.asarray(rates)[steps * self.local.epochs // max(len(batches), 1)]
        if self.local.augment == "none":
            return Course(batches, spread)
        ends = np.cumsum([len(batch) for batch in batches])
        visits = int(ends[-1]) if len(ends) else 0
        moves = draw_moves(visits, self.data.train.x.shape[1:], stream(self.seed, "augment", index, int(client)))
        return Course(batches, spread, np.split(moves, ends[:-1]))

    def probe_batch(self, client: int, index: int) -> np.ndarray:
        """Positions of the one random mini-batch that `batch_loss` is measured on."""
        order = stream(self.seed, "probe", index, int(client)).permutation(len(self.rows(client)))
        return order[: self.local.batch]
