"""Crop-and-flip: each visit to an image sees it shifted by a few pixels and, half the time, mirrored."""

from __future__ import annotations

import math

import numpy as np

from callup.core.errors import UsageError


def image_shape(sample: tuple[int, ...]) -> tuple[int, int, int]:
    """(channels, height, width) of one sample; a flat row is a square image, grey or in three colours."""
    if len(sample) == 3:
        return sample
    if len(sample) == 2:
        return (1, *sample)
    if len(sample) == 1:
        for channels in (1, 3):
            side = math.isqrt(sample[0] // channels)
            if channels * side * side == sample[0] > 0:
                return channels, side, side
    raise UsageError(
        f"augment 'crop-flip' needs images, but a sample has the shape {sample}; use augment 'none' for this task"
    )


def margin(height: int) -> int:
    """How far an image may move: an eighth of its height, the usual 4 pixels for 32."""
    return max(1, round(height / 8))


def draw_moves(visits: int, sample: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """One row for each visit: where the crop starts (down, right) in the padded image, and 1 to mirror it."""
    reach = 2 * margin(image_shape(sample)[1]) + 1
    return np.column_stack([rng.integers(0, reach, (visits, 2)), rng.integers(0, 2, visits)])


def crop_flip(x: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Images (one a row, flat or not) padded with zeros, cut to their own size again and mirrored as drawn."""
    channels, height, width = image_shape(x.shape[1:])
    pad = margin(height)
    padded = np.pad(x.reshape(-1, channels, height, width), ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    # Every crop there is, as a view: axes 2 and 3 are where it starts.
    crops = np.lib.stride_tricks.sliding_window_view(padded, (height, width), axis=(2, 3))
    cut = crops[np.arange(len(x)), :, moves[:, 0], moves[:, 1]]
    mirrored = moves[:, 2] == 1
    cut[mirrored] = cut[mirrored, :, :, ::-1]
    return cut.reshape(x.shape)
