"""The whole network on one flat vector: compiled convolutions below, numpy's products above."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from callup.simulation.backends.compiled.convolution import Convolution
from callup.simulation.backends.compiled.plan import Plan
from callup.simulation.backends.compiled.vectors import LANES, zeros
from callup.simulation.backends.mlp import activations, layers, pull
from callup.simulation.backends.mlp_backend import flat_rows


class Network:
    """Working memory for mini-batches of at most so many samples; one thread at a time may use it."""

    def __init__(self, plan: Plan, most: int) -> None:
        groups, first = -(-most // LANES), plan.convolutions[0]
        self.plan, self.most = plan, most
        self._x = zeros((groups, first.channels, first.height, first.width, LANES))
        self._convolutions = [Convolution(filters, groups, filters is first) for filters in plan.convolutions]
        self._error = zeros((groups, plan.sizes[0], LANES))

    def logits(self, flat: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Class scores of at most `most` samples."""
        filters, head = self._parts(flat)
        return activations(head, self.plan.sizes, self._features(filters, x))[-1]

    def loss_and_gradient(self, flat: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
        """Mean cross-entropy of at most `most` samples and its gradient, as a flat vector."""
        filters, head = self._parts(flat)
        gradient = np.empty_like(flat)
        to_filters, to_head = self._parts(gradient)
        loss, to_head[:], error = pull(head, self.plan.sizes, self._features(filters, x), y)
        groups = -(-len(x) // LANES)
        down = self._error[:groups]
        _interleave(error @ layers(head, self.plan.sizes)[0][0], down)
        inputs = [self._x, *(layer.pooled for layer in self._convolutions)]
        for depth in reversed(range(len(filters))):
            layer = self._convolutions[depth]
            down = down.reshape(groups, *layer.pooled.shape[1:])
            down = layer.backward(inputs[depth][:groups], filters[depth][0], down, *to_filters[depth])
        return loss, gradient

    def _features(self, filters: list[tuple[np.ndarray, np.ndarray]], x: np.ndarray) -> np.ndarray:
        groups = -(-len(x) // LANES)
        below = self._x[:groups]
        _interleave(flat_rows(x), below.reshape(groups, -1, LANES))
        for layer, (weights, biases) in zip(self._convolutions, filters, strict=True):
            below = layer.forward(below, weights, biases)
        rows = np.empty((len(x), self.plan.sizes[0]), np.float32)
        _separate(below.reshape(groups, -1, LANES), rows)
        return rows

    def _parts(self, flat: np.ndarray) -> tuple[list[tuple[np.ndarray, np.ndarray]], np.ndarray]:
        """Weights (out, in, size, size) and biases of each convolution, and the linear layers' share, as views."""
        found, at = [], 0
        for filters in self.plan.convolutions:
            shape = (filters.out, filters.channels, filters.size, filters.size)
            end = at + int(np.prod(shape))
            found.append((flat[at:end].reshape(shape), flat[end : end + filters.out]))
            at = end + filters.out
        return found, flat[at:]


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _interleave(x: Any, out: Any) -> None:
    """Eight samples side by side; zeros where the last group is not full."""
    for group in range(len(out)):
        for lane in range(LANES):
            row = group * LANES + lane
            for i in range(x.shape[1]):
                out[group, i, lane] = x[row, i] if row < len(x) else np.float32(0)


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _separate(groups: Any, out: Any) -> None:
    """Each sample as one row again."""
    for row in range(len(out)):
        for i in range(out.shape[1]):
            out[row, i] = groups[row // LANES, i, row % LANES]
