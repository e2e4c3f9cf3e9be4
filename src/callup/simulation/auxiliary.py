"""The server's auxiliary samples: a few of each class, taken from the validation set and never from the test set."""

from __future__ import annotations

import numpy as np

from callup.core.errors import InputError
from callup.core.types import check_k
from callup.simulation.task import Split

PER_CLASS = 32  # as in Fed-cucb


def auxiliary_set(validation: Split, per_class: int = PER_CLASS) -> Split:
    """The first so many samples of each class, or all there are of it, class after class."""
    check_k(per_class, "auxiliary samples per class")
    if validation.y.ndim > 1:
        raise InputError("texts have no classes: a selector that needs class_gradients cannot run on a next-word task")
    order = np.argsort(validation.y, kind="stable")
    labels = validation.y[order]
    place = np.arange(len(labels)) - np.searchsorted(labels, labels)
    rows = order[place < per_class]
    return Split(validation.x[rows], validation.y[rows])
