"""CIFAR-10 as published: batches of 32 x 32 colour pictures, in the binary or in the python version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from callup.core.errors import InputError
from callup.simulation.data.files import whole
from callup.simulation.data.images import Labelled, labelled
from callup.simulation.data.pickles import Call, Name, parse_pickle

SHAPE = (3, 32, 32)
CLASSES = 10
_PIXELS = 3 * 32 * 32
_RECORD = 1 + _PIXELS


def read_binary_batch(path: Path) -> Labelled:
    """One label byte, then 1,024 bytes each of red, green and blue, picture after picture; no header."""
    content = whole(path)
    if len(content) == 0 or len(content) % _RECORD:
        raise InputError(f"{path}: has {len(content):,} bytes, not a whole number of {_RECORD}-byte pictures")
    records = np.frombuffer(content, np.uint8).reshape(-1, _RECORD)
    return labelled(records[:, 1:], records[:, 0], SHAPE, CLASSES, path)


def read_python_batch(path: Path) -> Labelled:
    """A pickled dict with `data`, an array of bytes with one picture a row, and `labels`, a list. Nothing is run."""
    try:
        batch = parse_pickle(whole(path))
        pixels, labels = _pixels(batch["data"]), _labels(batch["labels"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: is not a CIFAR-10 batch as published ({error}); the binary version, data_batch_*.bin, will do"
        ) from error
    return labelled(pixels, labels, SHAPE, CLASSES, path)


def _pixels(value: Any) -> np.ndarray:
    """The bytes of an array as numpy pickles it: `_reconstruct` and the state (version, shape, dtype, order, raw)."""
    if _calls(value, "numpy.core.multiarray._reconstruct"):
        match value.state:
            case (_, (int(count), int(width)), Call(arguments=("u1", *_)) as kind, False, str(raw)):
                if _calls(kind, "numpy.dtype") and width == _PIXELS and len(raw) == count * width:
                    return np.frombuffer(raw.encode("latin-1"), np.uint8).reshape(count, width)
    raise ValueError(f"data is not an array of bytes with {_PIXELS:,} columns")


def _labels(value: Any) -> np.ndarray:
    # Looked at one by one before numpy sees them: a nest of lists that share their parts would be copied out in full.
    if not isinstance(value, list) or not all(type(label) is int for label in value):
        raise ValueError("labels is not a list of whole numbers")
    return np.array(value, np.int64)


def _calls(value: Any, name: str) -> bool:
    return isinstance(value, Call) and value.function == Name(name)
