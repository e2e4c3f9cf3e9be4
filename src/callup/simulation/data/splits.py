"""From published pictures to a task's three splits: a fixed part of the training set becomes the validation set."""

from __future__ import annotations

import numpy as np

from callup.core.errors import UsageError
from callup.core.randomness import stream
from callup.simulation.data.images import Images, Labelled
from callup.simulation.task import Data, Split

_BLOCK = 256


def hold_out(labels: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """A mask of `size` samples at random, with equally many of each class as far as each class reaches."""
    shuffled = rng.permutation(len(labels))
    by_class = shuffled[np.argsort(labels[shuffled], kind="stable")]
    starts = np.searchsorted(labels[by_class], labels[by_class])
    # Everybody's place within the own class; first places of all classes go before second places, and so on.
    place = np.empty(len(labels), np.int64)
    place[by_class] = np.arange(len(labels)) - starts
    mask = np.zeros(len(labels), bool)
    mask[shuffled[np.argsort(place[shuffled], kind="stable")[:size]]] = True
    return mask


def held_for_validation(labels: np.ndarray, name: str, size: int) -> np.ndarray:
    """A mask: which samples of the published training set of this name are the validation set."""
    if not 1 <= size <= len(labels) // 2:
        raise UsageError(
            f"{name}: validation must be between 1 and {len(labels) // 2}, half of the training set, got {size}"
        )
    return hold_out(labels, size, stream(0, "validation", name))


def three_splits(
    images: Images, name: str, validation: int, mean: tuple[float, ...], deviation: tuple[float, ...]
) -> Data:
    """Training, validation and test set as float32, scaled to [0, 1] and then standardised for each channel.

    The validation samples depend on the dataset and on their number alone, never on the seed of a run. Means and
    deviations are constants of the dataset: nothing is learned from what clients hold.
    """
    train, test = images.train, images.test
    if test is None:
        raise UsageError(f"{name} has no test set")
    held = held_for_validation(train.y, name, validation)
    return Data(
        train=_standardised(train, np.flatnonzero(~held), mean, deviation),
        validation=_standardised(train, np.flatnonzero(held), mean, deviation),
        test=_standardised(test, np.arange(len(test)), mean, deviation),
        classes=int(train.y.max()) + 1,
    )


def _standardised(part: Labelled, rows: np.ndarray, mean: tuple[float, ...], deviation: tuple[float, ...]) -> Split:
    """(pixel / 255 - mean) / deviation as one product and one sum, in blocks small enough for the cache."""
    spread = np.array(deviation)
    factor = (1 / (255 * spread)).astype(np.float32).reshape(-1, 1, 1)
    shift = (np.array(mean) / spread).astype(np.float32).reshape(-1, 1, 1)
    x = np.empty((len(rows), *part.x.shape[1:]), np.float32)
    for start in range(0, len(rows), _BLOCK):
        block = x[start : start + _BLOCK]
        np.multiply(part.x[rows[start : start + _BLOCK]], factor, out=block)
        block -= shift
    y = part.y[rows]
    for array in (x, y):
        array.setflags(write=False)  # every run in the process shares them
    return Split(x, y)
