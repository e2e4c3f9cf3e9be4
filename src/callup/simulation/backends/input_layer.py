"""The first layer, which is nearly all the work, in two forms that lead to the same weights.

*Direct* keeps a weight matrix for each client and moves it at every step. *Spanned* never touches it: each gradient
is a sum of the client's own inputs, so after any number of steps

    W = share W_0 + A^T X      (W_0 the received weights, X the client's samples, A one row for each sample)

and X W^T = share X W_0^T + (X X^T) A needs nothing of the samples but their inner products. The pair (share, A)
follows the same rule of SGD, with momentum, decay and proximal term, as any other weight, from (1, 0). It pays for
a client that goes several times over fewer samples than a sample has features.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from callup.simulation.augment import crop_flip
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

    def __init__(self, start: np.ndarray, x: list[np.ndarray], table: Timetable) -> None:
        self.columns, self._start = start.size, start
        self._x = np.concatenate(x)  # as images, if they come so: the augmentation has to see their shape
        # Every client's rows among the samples of all.
        self._rows = table.rows + np.cumsum([0, *map(len, x[:-1])])[:, None]
        self._moves = table.moves
        self._seen = np.empty((*table.rows.shape[1:], start.shape[1]), np.float32)

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


class Spanned:
    """A share of the received weights plus a sum of the client's own samples.

    One sample more than any client has, all zeros, stands at the places that are not filled.
    """

    def __init__(self, start: np.ndarray, x: list[np.ndarray], grams: list[np.ndarray], table: Timetable) -> None:
        self._start, self._x, self._table = start, x, table
        self._samples, self._outputs = max(map(len, x)) + 1, len(start)
        self.columns = self._samples * self._outputs + 1
        grid, places = (len(x), self._samples), table.rows.shape[1:]
        self._inner = np.zeros((*grid, self._samples), np.float32)
        self._received = np.zeros((*grid, self._outputs), np.float32)
        for client, (own, gram) in enumerate(zip(x, grams, strict=True)):
            self._inner[client, : len(own), : len(own)] = gram
            np.matmul(own, start.T, out=self._received[client, : len(own)])
        self._client = np.arange(len(x))[:, None]
        self._rows = table.rows + self._samples * self._client
        self._seen = np.empty((*places, self._samples), np.float32)
        self._seen_received = np.empty((*places, self._outputs), np.float32)

    def begin(self, weights: np.ndarray, gradient: np.ndarray) -> None:
        shape = (len(weights), self._samples, self._outputs)
        weights[...] = 0
        self._share, self._sums = weights[:, -1], weights[:, :-1].reshape(shape)
        self._share[...] = 1
        self._gradient, self._to_sums = gradient, gradient[:, :-1].reshape(shape)

    def forward(self, step: int, active: int, out: np.ndarray) -> None:
        rows, seen, received = self._rows[step, :active].ravel(), self._seen[:active], self._seen_received[:active]
        take_rows(self._inner, rows, seen)
        take_rows(self._received, rows, received)
        np.matmul(seen, self._sums[:active], out=out)
        received *= self._share[:active, None, None]
        out += received

    def backward(self, step: int, active: int, error: np.ndarray) -> None:
        self._gradient[:active] = 0
        self._to_sums[self._client[:active], self._table.rows[step, :active]] = error

    def descend(self, step: int, active: int, error: np.ndarray) -> None:
        # A mini-batch has no sample twice but the one of zeros, whose errors are zero.
        self._sums[self._client[:active], self._table.rows[step, :active]] -= error

    def finish(self, out: np.ndarray) -> None:
        for client, own in enumerate(self._x):
            np.matmul(self._sums[client, : len(own)].T, own, out=out[client])
            out[client] += self._share[client] * self._start


def take_rows(source: np.ndarray, rows: np.ndarray, out: np.ndarray) -> None:
    """out <- rows of the source, whatever the axes before the last; `clip` spares numpy a copy of the output."""
    width = source.shape[-1]
    np.take(source.reshape(-1, width), rows, axis=0, out=out.reshape(-1, width), mode="clip")
