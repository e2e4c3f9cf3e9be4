"""Local training of several clients at once: step after step, one batched product for all of them.

Row i of every array belongs to client i, and only the first `active` rows still train. Hidden layers are kept as
(client, sample, unit) and class scores as (client, class, sample), where sums over classes are fast.
"""

from __future__ import annotations

import numpy as np

from callup.simulation.backends.input_layer import InputLayer
from callup.simulation.backends.mlp import Layers, layers
from callup.simulation.backends.space import Space
from callup.simulation.backends.timetable import Timetable
from callup.simulation.local import LocalTraining


class Lockstep:
    """One round of a group of clients; buffers are made once and used in every step."""

    def __init__(
        self,
        start: np.ndarray,
        sizes: tuple[int, ...],
        local: LocalTraining,
        table: Timetable,
        first: InputLayer,
        space: Space,
        with_loss: bool,
    ) -> None:
        self._start, self._sizes, self._local, self._table, self._first = start, sizes, local, table, first
        self._clients, width = table.rows.shape[1:]
        # A client's row: the first layer in its own form, then all that follows it in the flat vector.
        self._shared = start[sizes[0] * sizes[1] :]
        shape = (self._clients, first.columns + len(self._shared))
        self._weights, self._gradient = space.floats("weights", *shape), space.floats("gradient", *shape)
        first.begin(self._weights[:, : first.columns], self._gradient[:, : first.columns])
        self._weights[:, first.columns :] = self._shared
        self._biases, self._deeper = self._split(self._weights)
        self._to_biases, self._to_deeper = self._split(self._gradient)
        self._hidden = [
            space.floats(f"hidden {depth}", self._clients, width, size) for depth, size in enumerate(sizes[1:])
        ]
        self._errors = [space.floats(f"error {depth}", *h.shape) for depth, h in enumerate(self._hidden[:-1])]
        self._scores = space.floats("scores", self._clients, sizes[-1], width)
        self._ones = np.ones((1, width), np.float32)
        # Where the score of each sample's own class stands among all scores.
        self._own = table.labels * width + np.arange(width) + self._scores[0].size * np.arange(self._clients)[:, None]
        self._loss, self._with_loss = np.zeros(self._clients), with_loss
        self._zeros = np.zeros((self._clients, width, max(sizes[1:])), np.float32)
        # Plain SGD takes the rate where arrays are small, and leaves the first layer to descend by itself.
        plain = is_plain(local)
        self._scale = table.weights * table.rates[:, :, None] if plain else table.weights
        self._sgd = None if plain else Sgd(self._weights, self._gradient, local)
        self._models = space.floats("models", self._clients, len(start))
        self._rest, self._to_rest = (rows[:, first.columns :] for rows in (self._weights, self._gradient))

    def run(self) -> tuple[np.ndarray, np.ndarray]:
        """Local models, one a row, and the mean mini-batch loss of each client; zero where it is not wanted."""
        for step, active in enumerate(self._table.active):
            self._forward(step, active)
            self._compare(step, active)
            self._backward(step, active)
            if self._sgd is not None:
                self._sgd.descend(active, self._table.rates[step, :active])
        models = self._models
        self._first.finish(layers(models, self._sizes)[0][0])
        models[:, -len(self._shared) :] = self._weights[:, self._first.columns :]
        steps = np.array(self._table.active)[:, None] > np.arange(self._clients)
        return models, self._loss / steps.sum(axis=0)

    def _split(self, rows: np.ndarray) -> tuple[np.ndarray, Layers]:
        """Biases of the first layer, then every deeper layer."""
        rest = rows[:, self._first.columns :]
        return rest[:, : self._sizes[1]], layers(rest[:, self._sizes[1] :], self._sizes[1:])

    def _forward(self, step: int, active: int) -> None:
        inner = self._hidden[0][:active]
        self._first.forward(step, active, out=inner)
        inner += self._biases[:active, None]
        for (weights, biases), hidden in zip(self._deeper, self._hidden[1:], strict=True):
            # Zeros as an array: with a number numpy takes five times as long.
            np.maximum(inner, self._zeros[:active, :, : inner.shape[2]], out=inner)
            outer = hidden[:active]
            np.matmul(inner, weights[:active].transpose(0, 2, 1), out=outer)
            outer += biases[:active, None]
            inner = outer
        self._scores[:active] = inner.transpose(0, 2, 1)

    def _compare(self, step: int, active: int) -> None:
        """Scores become d loss / d scores = (softmax - one-hot) / samples; losses are added up on the way."""
        scores, own = self._scores[:active], self._own[step, :active]
        flat = scores.reshape(-1)
        scores -= scores.max(axis=1, keepdims=True)
        shifted = flat[own] if self._with_loss else None
        np.exp(scores, out=scores)
        total = scores.sum(axis=1)
        if shifted is not None:
            self._loss[:active] += (self._table.weights[step, :active] * (np.log(total) - shifted)).sum(axis=1)
        scores /= total[:, None]
        flat[own] -= 1
        scores *= self._scale[step, :active, None]

    def _backward(self, step: int, active: int) -> None:
        error = self._scores[:active].transpose(0, 2, 1)
        for depth in reversed(range(len(self._deeper))):
            weights, (to_weights, to_biases) = self._deeper[depth][0], self._to_deeper[depth]
            inner, back = self._hidden[depth][:active], self._errors[depth][:active]
            np.matmul(error.transpose(0, 2, 1), inner, out=to_weights[:active])
            np.matmul(self._ones, error, out=to_biases[:active, None])
            np.matmul(error, weights[:active], out=back)
            # ReLU passes the error on only where its output was above zero.
            back *= inner > 0
            error = back
        np.matmul(self._ones, error, out=self._to_biases[:active, None])
        if self._sgd is not None:
            self._first.backward(step, active, error)
        else:
            self._first.descend(step, active, error)
            self._rest[:active] -= self._to_rest[:active]


def is_plain(local: LocalTraining) -> bool:
    """Whether a step is no more than the gradient times the rate."""
    return not (local.momentum or local.weight_decay or local.proximal)


class Sgd:
    """v <- momentum v + g + decay w + mu (w - w_t);  w <- w - rate v, on the weights of all clients at once."""

    def __init__(self, weights: np.ndarray, gradient: np.ndarray, local: LocalTraining) -> None:
        self._weights, self._gradient, self._local = weights, gradient, local
        self._start, self._velocity, self._work = weights.copy(), np.zeros_like(weights), np.empty_like(weights)

    def descend(self, active: int, rates: np.ndarray) -> None:
        weights, gradient, local = self._weights[:active], self._gradient[:active], self._local
        velocity, work = self._velocity[:active], self._work[:active]
        velocity *= local.momentum
        velocity += gradient
        if local.weight_decay:
            velocity += np.multiply(weights, local.weight_decay, out=work)
        if local.proximal:
            np.subtract(weights, self._start[:active], out=work)
            work *= local.proximal
            velocity += work
        weights -= np.multiply(velocity, rates[:, None], out=work)
