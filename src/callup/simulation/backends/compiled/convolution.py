"""One layer: convolution, ReLU and pooling of 2 x 2, forwards and backwards, eight samples at a time.

Arrays are (groups, channels, height, width, 8 samples). A group passes through the whole layer before the next one
starts, so that what lies between convolution and pooling stays in the cache.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import njit

from callup.simulation.backends.compiled.plan import Filters
from callup.simulation.backends.compiled.pooling import pool_line, unpool_line
from callup.simulation.backends.compiled.tiles import block, correlate, divisors, weigh
from callup.simulation.backends.compiled.vectors import LANES, sources, zeros


class Convolution:
    """The layer's working memory for at most so many groups, and its kernels."""

    def __init__(self, filters: Filters, groups: int, first: bool) -> None:
        size, channels, out = filters.size, filters.channels, filters.out
        height, width = filters.height - size + 1, filters.width - size + 1
        self._ahead = block(divisors(out), divisors(width))
        self._back = block(divisors(channels), divisors(filters.width))
        self._pull = block(divisors(out), [size])
        self._steps = _steps_ahead(filters, self._ahead[0])
        # Nobody asks how the pictures themselves should change.
        self._paths = _no_paths() if first else _paths_back(filters, *self._back)
        # Tiles at the edge look a little over it, and find zeros there.
        self._border = self._back[1] - 1
        self._raw = zeros((out, height, width, LANES))
        self._errors = zeros((out, height, width + 2 * self._border, LANES))
        self._sums = zeros((out // self._pull[0], channels, size, *self._pull, LANES))
        self._bias_sums = zeros((out, LANES))
        self.pooled = zeros((groups, out, height // 2, width // 2, LANES))
        self._winner = zeros(self.pooled.shape, np.int32)
        self._to_inputs = zeros((groups, channels, filters.height, filters.width, LANES))

    def forward(self, x: np.ndarray, weights: np.ndarray, biases: np.ndarray) -> np.ndarray:
        """Pooled pictures of these groups: kept for `backward`, and valid until the next call."""
        rows, columns = self._ahead
        packed = weights.reshape(len(biases) // rows, rows, -1).transpose(0, 2, 1).ravel()
        pooled, winner = self.pooled[: len(x)], self._winner[: len(x)]
        _ahead(rows, columns)(x, packed, biases, *self._steps, self._raw, pooled, winner)
        return pooled

    def backward(
        self, x: np.ndarray, weights: np.ndarray, error: np.ndarray, to_weights: np.ndarray, to_biases: np.ndarray
    ) -> np.ndarray:
        """Fills in the gradient, given that of the pooled pictures; returns that of x, for the first layer zeros."""
        rows, columns = self._back
        split = (weights.shape[0], weights.shape[1] // rows, rows, *weights.shape[2:])
        packed = weights.reshape(split).transpose(1, 0, 3, 4, 2).ravel()
        self._sums[:] = 0
        self._bias_sums[:] = 0
        to_inputs = self._to_inputs[: len(x)]
        _back(*self._pull, rows, columns)(
            x, packed, error, self._winner, self._errors, self._border, self._sums, self._bias_sums,
            *self._paths, to_inputs,
        )  # fmt: skip
        lanes = np.ones(LANES, np.float32)  # a product with ones sums faster than a sum
        to_weights[:] = (self._sums @ lanes).transpose(0, 3, 1, 2, 4).reshape(to_weights.shape)
        to_biases[:] = self._bias_sums @ lanes
        return to_inputs


def _steps_ahead(filters: Filters, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """For each weight of a filter: how far its pixel is from the tile's first, and where the weight is."""
    channel, down, right = np.indices((filters.channels, filters.size, filters.size)).reshape(3, -1)
    pixels = (channel * filters.height + down) * filters.width + right
    return (pixels * LANES).astype(np.int32), (np.arange(len(pixels)) * rows).astype(np.int32)


def _paths_back(filters: Filters, rows: int, columns: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each tile of the input: the errors it has a part in and the weights between, with where its list starts."""
    size, border = filters.size, columns - 1
    height, width = filters.height - size + 1, filters.width - size + 1
    errors, weights, starts = [], [], [0]
    out, down, right = np.indices((filters.out, size, size)).reshape(3, -1)
    place = np.arange(len(out)) * rows
    for y in range(filters.height):
        for x in range(0, filters.width, columns):
            line, column = y - down, x - right
            seen = (line >= 0) & (line < height) & (column >= -border) & (column < width)
            errors.append(((out * height + line) * (width + 2 * border) + column + border)[seen] * LANES)
            weights.append(place[seen])
            starts.append(starts[-1] + int(seen.sum()))
    return np.concatenate(errors).astype(np.int32), np.concatenate(weights).astype(np.int32), np.array(starts, np.int64)


def _no_paths() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(1, np.int64)


@cache
def _ahead(rows: int, columns: int) -> Any:
    stamp = sources()

    @njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
    def forward(
        x: Any, packed: Any, biases: Any, x_steps: Any, w_steps: Any, raw: Any, pooled: Any, winner: Any
    ) -> None:
        assert stamp
        out, height, width, _ = raw.shape
        _, channels, high, wide, _ = x.shape
        pixels, raw_flat, best, which = x.reshape(-1), raw.reshape(-1), pooled.reshape(-1), winner.reshape(-1)
        for group in range(len(x)):
            for y in range(height):
                for left in range(0, width, columns):
                    start = ((group * channels * high + y) * wide + left) * LANES
                    for top in range(0, out, rows):
                        weigh(
                            rows, columns, raw_flat, ((top * height + y) * width + left) * LANES,
                            height * width * LANES, pixels, start, x_steps,
                            packed, top * len(x_steps), w_steps, 0, len(x_steps),
                        )  # fmt: skip
            for channel in range(out):
                for y in range(height // 2):
                    pool_line(
                        raw_flat, (channel * height + 2 * y) * width * LANES, width * LANES, biases, channel,
                        best, which, ((group * out + channel) * (height // 2) + y) * (width // 2) * LANES, width // 2,
                    )  # fmt: skip

    return forward


@cache
def _back(pull: int, size: int, rows: int, columns: int) -> Any:
    stamp = sources()

    @njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
    def backward(
        x: Any, packed: Any, error: Any, winner: Any, errors: Any, border: Any, sums: Any, bias_sums: Any,
        error_steps: Any, w_steps: Any, starts: Any, to_inputs: Any,
    ) -> None:  # fmt: skip
        assert stamp
        out, height, broad, _ = errors.shape
        _, channels, high, wide, _ = x.shape
        width = broad - 2 * border
        weights = out * size * size * rows
        pixels, errors_flat = x.reshape(-1), errors.reshape(-1)
        sums_flat, biases_flat, to_flat = sums.reshape(-1), bias_sums.reshape(-1), to_inputs.reshape(-1)
        error_flat, which = error.reshape(-1), winner.reshape(-1)
        for group in range(len(x)):
            for channel in range(out):
                for y in range(height // 2):
                    unpool_line(
                        error_flat, which, ((group * out + channel) * (height // 2) + y) * (width // 2) * LANES,
                        errors_flat, ((channel * height + 2 * y) * broad + border) * LANES, broad * LANES,
                        biases_flat, channel * LANES, width // 2,
                    )  # fmt: skip
            for top in range(0, out, pull):
                for channel in range(channels):
                    for down in range(size):
                        to = ((top * channels + channel * pull) * size + down * pull) * size * LANES
                        correlate(
                            pull, size, sums_flat, to,
                            errors_flat, (top * height * broad + border) * LANES, height * broad * LANES,
                            broad * LANES, pixels, ((group * channels + channel) * high + down) * wide * LANES,
                            wide * LANES, height, width,
                        )  # fmt: skip
            for tile in range(len(starts) - 1):
                y, left = divmod(tile * columns, wide)
                for top in range(0, channels, rows):
                    weigh(
                        rows, columns, to_flat, (((group * channels + top) * high + y) * wide + left) * LANES,
                        high * wide * LANES, errors_flat, 0, error_steps,
                        packed, top // rows * weights, w_steps, starts[tile], starts[tile + 1],
                    )  # fmt: skip

    return backward
