"""Small convolutional networks, clients spread over threads: compiled code lets them run side by side."""

from __future__ import annotations

import numpy as np

from callup.simulation.backends.base import Backend, Score, SplitName
from callup.simulation.backends.compiled.network import Network
from callup.simulation.backends.compiled.plan import Plan
from callup.simulation.backends.cores import Wanted
from callup.simulation.backends.course import Course
from callup.simulation.backends.scores import score
from callup.simulation.backends.threaded import Threaded
from callup.simulation.task import Split

_ROWS = 128  # scored at a time, or as many as a mini-batch has


class Compiled(Threaded[Network]):
    """Trains and measures in compiled code what `torch` describes, and leaves first weights and the rest to it."""

    def __init__(self, torch: Backend, plan: Plan, workers: Wanted = 1) -> None:
        super().__init__(torch.data, torch.model, torch.shards, torch.local, torch.seed)
        self._torch = torch
        self._rows = max(_ROWS, self.local.batch)
        self.hire(workers, lambda: Network(plan, self._rows))

    def init(self) -> np.ndarray:
        return self._torch.init()

    def class_gradients(self, models: np.ndarray, held: Split) -> np.ndarray:
        return self._torch.class_gradients(models, held)

    def close(self) -> None:
        self._torch.close()
        super().close()

    def evaluate(self, model: np.ndarray, split: SplitName) -> Score:
        held: Split = getattr(self.data, split)
        starts = range(0, max(len(held), 1), self._rows)
        parts = self.spread(lambda at: self.logits(model, held.x[at : at + self._rows]), starts)
        return score(np.concatenate(parts), held.y, self.data.classes)

    def logits(self, model: np.ndarray, x: np.ndarray) -> np.ndarray:
        with self.network() as network:
            parts = [network.logits(model, x[at : at + self._rows]) for at in range(0, len(x), self._rows)]
        return np.concatenate(parts) if parts else np.empty((0, self.data.classes), np.float32)

    def gradient(self, model: np.ndarray, held: Split) -> np.ndarray:
        total = np.zeros(len(model))
        with self.network() as network:
            for at in range(0, len(held), self._rows):
                x, y = held.x[at : at + self._rows], held.y[at : at + self._rows]
                total += network.loss_and_gradient(model, x, y)[1] * (len(y) / len(held))
        return total.astype(np.float32)

    def train_one(self, model: np.ndarray, own: Split, course: Course, weights: np.ndarray) -> float:
        weights[:] = model
        local, velocity, losses = self.local, np.zeros_like(model), []
        with self.network() as network:
            for step, rows in enumerate(course.batches):
                loss, gradient = network.loss_and_gradient(weights, course.inputs(own.x, step), own.y[rows])
                # v <- momentum v + g + decay w + mu (w - w_t);  w <- w - rate v
                if local.weight_decay:
                    gradient += local.weight_decay * weights
                if local.proximal:
                    gradient += local.proximal * (weights - model)
                velocity *= local.momentum
                velocity += gradient
                weights -= float(course.rates[step]) * velocity
                losses.append(loss)
        return float(np.mean(losses)) if losses else np.nan
