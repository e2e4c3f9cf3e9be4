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


def held_for_validation(labels: np.ndarray, name: str, size: int, owners: np.ndarray | None = None) -> np.ndarray:
    """A mask: which samples of the published training set of this name are the validation set."""
    if not 1 <= size <= len(labels) // 2:
        raise UsageError(
            f"{name}: validation must be between 1 and {len(labels) // 2}, half of the training set, got {size}"
        )
    rng = stream(0, "validation", name)
    return hold_out(labels, size, rng) if owners is None else hold_out_owners(owners, size, rng)


def own_test_set(images: Images, name: str, size: int) -> Images:
    """Pictures published without a test set: a fixed part of them, balanced over classes, becomes one."""
    if images.test is not None:
        return images
    train = images.train
    if not 1 <= size <= len(train) // 2:
        raise UsageError(f"{name}: test must be between 1 and {len(train) // 2}, half of all pictures, got {size}")
    held = hold_out(train.y, size, stream(0, "test", name))
    return Images(Labelled(train.x[~held], train.y[~held]), Labelled(train.x[held], train.y[held]))


def hold_out_owners(owners: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """A mask of all samples of randomly drawn owners, just enough of them to have at least `size` samples."""
    people, counts = np.unique(owners, return_counts=True)
    order = rng.permutation(len(people))
    enough = int(np.searchsorted(np.cumsum(counts[order]), size)) + 1
    return np.isin(owners, people[order[:enough]])


def three_splits(
    images: Images,
    name: str,
    validation: int,
    mean: tuple[float, ...],
    deviation: tuple[float, ...],
    owners: np.ndarray | None = None,
) -> Data:
    """Training, validation and test set as float32, scaled to [0, 1] and then standardised for each channel.

    The validation samples depend on the dataset and on their number alone, never on the seed of a run. Means and
    deviations are constants of the dataset: nothing is learned from what clients hold. Where owners of the training
    pictures are given, whole owners are held out, so that nobody is in two splits.
    """
    train, test = images.train, images.test
    if test is None:
        raise UsageError(f"{name} has no test set")
    held = held_for_validation(train.y, name, validation, owners)
    return Data(
        train=_standardised(train, np.flatnonzero(~held), mean, deviation),
        validation=_standardised(train, np.flatnonzero(held), mean, deviation),
        test=_standardised(test, np.arange(len(test)), mean, deviation),
        classes=int(train.y.max()) + 1,
        owners=None if owners is None else owners[~held],
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
