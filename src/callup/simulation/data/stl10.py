"""STL-10 as published: 96 x 96 colour pictures column by column, labels 1 to 10 in a file of their own."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from callup.core.errors import InputError
from callup.simulation.data.files import whole
from callup.simulation.data.images import Labelled, labelled

SHAPE = (3, 96, 96)
CLASSES = 10
_PIXELS = 3 * 96 * 96


def read_binary(pictures: Path, labels: Path) -> Labelled:
    """train_X.bin with train_y.bin, or the same for test; neither has a header."""
    x, y = np.frombuffer(whole(pictures), np.uint8), np.frombuffer(whole(labels), np.uint8)
    if len(x) == 0 or len(x) % _PIXELS:
        raise InputError(f"{pictures}: has {len(x):,} bytes, not a whole number of {_PIXELS}-byte pictures")
    if len(y) and not 1 <= y.min() <= y.max() <= CLASSES:
        raise InputError(f"{labels}: labels run from {y.min()} to {y.max()}, expected 1 to {CLASSES}")
    # Columns come before rows in the file, so height and width change places.
    upright = x.reshape(-1, 3, 96, 96).transpose(0, 1, 3, 2)
    return labelled(upright, y - np.uint8(1), SHAPE, CLASSES, pictures)
