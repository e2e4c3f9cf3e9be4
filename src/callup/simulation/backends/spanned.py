"""The first layer of clients that never touch its weights: each gradient is a sum of the client's own inputs.

After any number of steps

    W = share W_0 + A^T X      (W_0 the received weights, X the client's samples, A one row for each sample)

and X W^T = share X W_0^T + (X X^T) A needs nothing of the samples but their inner products. The pair (share, A)
follows the same rule of SGD, with momentum, decay and proximal term, as any other weight, from (1, 0).
"""

from __future__ import annotations

import numpy as np

from callup.simulation.backends.input_layer import take_rows
from callup.simulation.backends.space import Space
from callup.simulation.backends.timetable import Timetable


class Spanned:
    """For plain SGD, where the share stays 1. A is kept here, and no gradient is written down.

    One sample more than any client has, all zeros, stands at the places that are not filled.
    """

    columns = 0

    def __init__(
        self, start: np.ndarray, x: list[np.ndarray], grams: list[np.ndarray], table: Timetable, space: Space
    ) -> None:
        self._start, self._x, self._space = start, x, space
        self._samples, self._outputs = max(map(len, x)) + 1, len(start)
        grid, places = (len(x), self._samples), table.rows.shape[1:]
        self._inner = space.floats("inner products", *grid, self._samples)
        self._received = space.floats("received", *grid, self._outputs)
        for inner, received, own, gram in zip(self._inner, self._received, x, grams, strict=True):
            inner[: len(own), : len(own)] = gram
            np.matmul(own, start.T, out=received[: len(own)])
            inner[len(own) :] = inner[: len(own), len(own) :] = received[len(own) :] = 0
        # Every client's rows among those of all.
        self._rows = table.rows + self._samples * np.arange(len(x))[:, None]
        self._seen = space.floats("inner products seen", *places, self._samples)
        self._seen_received = space.floats("received, seen", *places, self._outputs)

    def begin(self, weights: np.ndarray, gradient: np.ndarray) -> None:  # noqa: ARG002
        self._sums = self._space.floats("sums", len(weights), self._samples, self._outputs)
        self._sums[...] = 0

    def forward(self, step: int, active: int, out: np.ndarray) -> None:
        rows, seen = self._rows[step, :active].ravel(), self._seen[:active]
        take_rows(self._inner, rows, seen)
        np.matmul(seen, self._sums[:active], out=out)
        out += self._kept(rows, active)

    def _kept(self, rows: np.ndarray, active: int) -> np.ndarray:
        """What is left of the received weights' outputs."""
        received = self._seen_received[:active]
        take_rows(self._received, rows, received)
        return received

    def backward(self, step: int, active: int, error: np.ndarray) -> None:
        raise NotImplementedError("plain SGD descends at once")

    def descend(self, step: int, active: int, error: np.ndarray) -> None:
        # A mini-batch has no sample twice but the one of zeros, whose errors are zero.
        rows, sums = self._rows[step, :active].ravel(), self._sums.reshape(-1, self._outputs)
        moved = self._seen_received[:active].reshape(-1, self._outputs)
        take_rows(sums, rows, moved)
        moved -= error.reshape(moved.shape)
        sums[rows] = moved

    def finish(self, out: np.ndarray) -> None:
        for client, own in enumerate(self._x):
            np.matmul(self._sums[client, : len(own)].T, own, out=out[client])
            out[client] += self._remaining(client)

    def _remaining(self, client: int) -> np.ndarray:  # noqa: ARG002
        """What is left of the received weights."""
        return self._start


class SpannedAndShare(Spanned):
    """For SGD with momentum, decay or a proximal term: share and A stand among the client's other weights."""

    def __init__(
        self, start: np.ndarray, x: list[np.ndarray], grams: list[np.ndarray], table: Timetable, space: Space
    ) -> None:
        super().__init__(start, x, grams, table, space)
        self.columns = self._samples * self._outputs + 1
        self._table, self._client = table, np.arange(len(x))[:, None]

    def begin(self, weights: np.ndarray, gradient: np.ndarray) -> None:
        shape = (len(weights), self._samples, self._outputs)
        weights[...] = 0
        self._share, self._sums = weights[:, -1], weights[:, :-1].reshape(shape)
        self._share[...] = 1
        self._gradient, self._to_sums = gradient, gradient[:, :-1].reshape(shape)

    def _kept(self, rows: np.ndarray, active: int) -> np.ndarray:
        received = super()._kept(rows, active)
        received *= self._share[:active, None, None]
        return received

    def backward(self, step: int, active: int, error: np.ndarray) -> None:
        self._gradient[:active] = 0
        self._to_sums[self._client[:active], self._table.rows[step, :active]] = error

    def _remaining(self, client: int) -> np.ndarray:
        return np.asarray(self._share[client] * self._start)
