"""The first layer, which is nearly all the work, in two forms that lead to the same weights.

*Direct* keeps a weight matrix for each client and moves it at every step. *Spanned*, in a file of its own, never does
so, and pays for a client that goes several times over fewer samples than a sample has features.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from callup.simulation.augment import crop_flip
from callup.simulation.backends.space import Space
from callup.simulation.backends.timetable import Timetable


class InputLayer(Protocol):
    """Each client's first `columns` weights are this layer's; `begin` hands it those of all clients, as views."""

    columns: int

    def begin(self, weights: np.ndarray, gradient: np.ndarray) -> None:
        """Weights as received."""

    def forward(self, step: int, active: int, out: np.ndarray) -> None:
        """The layer's outputs, without biases, for the mini-batches of this step."""

    def backward(self, step: int, active: int, error: np.ndarray) -> None:
        """Writes the gradient, from d loss / d output."""

    def descend(self, step: int, active: int, error: np.ndarray) -> None:
        """A step of plain SGD, from d loss / d output times the rate."""

    def finish(self, out: np.ndarray) -> None:
        """The weights of every client, (client, out, in)."""


class Direct:
    """A weight matrix for each client."""

    def __init__(self, start: np.ndarray, x: list[np.ndarray], table: Timetable, space: Space) -> None:
        self.columns, self._start = start.size, start
        # As images, if they come so: the augmentation has to see their shape.
        self._x = np.concatenate(x, out=space.floats("samples of all", sum(map(len, x)), *x[0].shape[1:]))
        # Every client's rows among the samples of all.
        self._rows = table.rows + np.cumsum([0, *map(len, x[:-1])])[:, None]
        self._moves = table.moves
        self._seen = space.floats("samples seen", *table.rows.shape[1:], start.shape[1])

    def begin(self, weights: np.ndarray, gradient: np.ndarray) -> None:
        shape = (len(weights), *self._start.shape)
        self._weights, self._gradient = weights.reshape(shape), gradient.reshape(shape)
        self._weights[...] = self._start

    def forward(self, step: int, active: int, out: np.ndarray) -> None:
        rows, seen = self._rows[step, :active].ravel(), self._seen[:active]
        if self._moves is None:
            take_rows(self._x.reshape(len(self._x), -1), rows, seen)
        else:
            moved = crop_flip(self._x[rows], self._moves[step, :active].reshape(len(rows), -1))
            seen[...] = moved.reshape(seen.shape)
        np.matmul(seen, self._weights[:active].transpose(0, 2, 1), out=out)

    def backward(self, step: int, active: int, error: np.ndarray) -> None:  # noqa: ARG002
        np.matmul(error.transpose(0, 2, 1), self._seen[:active], out=self._gradient[:active])

    def descend(self, step: int, active: int, error: np.ndarray) -> None:
        self.backward(step, active, error)
        self._weights[:active] -= self._gradient[:active]

    def finish(self, out: np.ndarray) -> None:
        out[...] = self._weights


def take_rows(source: np.ndarray, rows: np.ndarray, out: np.ndarray) -> None:
    """out <- rows of the source, whatever the axes before the last; `clip` spares numpy a copy of the output."""
    width = source.shape[-1]
    source.reshape(-1, width).take(rows, axis=0, out=out.reshape(-1, width), mode="clip")
