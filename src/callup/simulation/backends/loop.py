"""One client at a time, in code that reads like the formulas: what the fast backends are checked against."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from callup.core.index import Ids
from callup.simulation.backends.base import Trained
from callup.simulation.backends.class_gradients import by_class, mean_squares
from callup.simulation.backends.course import Course
from callup.simulation.backends.measured import silence
from callup.simulation.backends.mlp import loss_and_gradient
from callup.simulation.backends.mlp_backend import MlpBackend, flat_rows
from callup.simulation.task import Split


class Loop(MlpBackend):
    """Softmax regression and multilayer perceptrons, one client after the other."""

    def train(self, model: np.ndarray, ids: Ids, index: int, rates: np.ndarray, wants: Collection[str]) -> Trained:
        models = np.empty((len(ids), len(model)), np.float32)
        steps, heard = np.empty(len(ids), np.int64), silence(len(ids), model, wants)
        with np.errstate(over="ignore", invalid="ignore"):  # a diverged client is told by its model
            for row, client in enumerate(ids):
                own, course = self.samples(client), self.course(client, index, rates[row])
                models[row], train_loss = self._train_one(model, own, course)
                steps[row] = len(course)
                self.measure(model, own, row, heard)
                if "train_loss" in heard:
                    heard["train_loss"][row] = train_loss
        return Trained(models, steps, heard)

    def _train_one(self, start: np.ndarray, own: Split, course: Course) -> tuple[np.ndarray, float]:
        """The local model and the mean of its mini-batch losses."""
        local, model = self.local, start.astype(np.float32)
        velocity, losses = np.zeros_like(model), []
        for step, rows in enumerate(course.batches):
            x = flat_rows(course.inputs(own.x, step))
            loss, gradient = loss_and_gradient(model, self.sizes, x, own.y[rows])
            losses.append(loss)
            if local.weight_decay:
                gradient += local.weight_decay * model
            if local.proximal:
                gradient += local.proximal * (model - start)
            # v <- momentum v + g;  w <- w - rate v
            velocity = local.momentum * velocity + gradient if local.momentum else gradient
            model -= float(course.rates[step]) * velocity
        return model, float(np.mean(losses)) if losses else np.nan

    def class_gradients(self, models: np.ndarray, held: Split) -> np.ndarray:
        parts = by_class(held, self.data.classes)
        pulls = [[mean_squares(self.gradient(model, part), self.sizes) for part in parts] for model in models]
        return np.array(pulls).reshape(len(models), len(parts))
