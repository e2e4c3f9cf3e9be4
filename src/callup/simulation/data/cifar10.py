"""CIFAR-10 as published: batches of 32 x 32 colour pictures, in the binary or in the python version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from callup.core.errors import InputError
from callup.simulation.data.files import opened, take
from callup.simulation.data.images import Labelled, labelled
from callup.simulation.data.pickles import Call, Name, parse_pickle

SHAPE = (3, 32, 32)
CLASSES = 10
_PIXELS = 3 * 32 * 32
_RECORD = 1 + _PIXELS


def read_binary_batch(path: Path) -> Labelled:
    """One label byte, then 1,024 bytes each of red, green and blue, picture after picture; no header."""
    with opened(path) as (stream, size):
        if size == 0 or size % _RECORD:
            raise InputError(f"{path}: has {size:,} bytes, which is not a whole number of {_RECORD}-byte pictures")
        records = np.frombuffer(take(stream, size, path), np.uint8).reshape(-1, _RECORD)
    return labelled(records[:, 1:], records[:, 0], SHAPE, CLASSES, path)


def read_python_batch(path: Path) -> Labelled:
    """A pickled dict with `data`, an array of bytes with one picture a row, and `labels`, a list. Nothing is run."""
    with opened(path) as (stream, size):
        found = parse_pickle(bytes(take(stream, size, path)), path)
    batch = {_text(key): value for key, value in found.items()} if isinstance(found, dict) else {}
    pixels, labels = _pixels(batch.get("data")), batch.get("labels")
    if pixels is None or not isinstance(labels, list) or not all(type(label) is int for label in labels):
        raise InputError(f"{path}: is not a CIFAR-10 batch as published; try the binary version, data_batch_*.bin")
    y = np.array([label if 0 <= label < CLASSES else CLASSES for label in labels], np.uint8)
    return labelled(pixels, y, SHAPE, CLASSES, path)


def _pixels(value: Any) -> np.ndarray | None:
    """The bytes of an array as numpy pickles it: `_reconstruct` and the state (version, shape, dtype, order, raw)."""
    if not _calls(value, "numpy.core.multiarray._reconstruct", "numpy._core.multiarray._reconstruct"):
        return None
    if not (isinstance(value.state, tuple) and len(value.state) == 5):
        return None
    _, shape, kind, fortran, raw = value.state
    if not (_calls(kind, "numpy.dtype") and isinstance(kind.arguments, tuple) and kind.arguments[:1] == ("u1",)):
        return None
    content = _bytes(raw)
    if fortran or content is None or shape != (len(content) // _PIXELS, _PIXELS) or len(content) % _PIXELS:
        return None
    return np.frombuffer(content, np.uint8).reshape(-1, _PIXELS)


def _calls(value: Any, *names: str) -> bool:
    return isinstance(value, Call) and isinstance(value.function, Name) and value.function.path in names


def _bytes(raw: Any) -> bytes | None:
    """Bytes as Python 3 or Python 2 pickled them; Python 3 writes old protocols as `_codecs.encode(text, "latin1")`."""
    if _calls(raw, "_codecs.encode") and isinstance(raw.arguments, tuple) and raw.arguments[1:] == ("latin1",):
        raw = raw.arguments[0]
    if isinstance(raw, str):
        try:
            return raw.encode("latin-1")
        except UnicodeEncodeError:
            return None
    return raw if isinstance(raw, bytes) else None


def _text(key: Any) -> Any:
    return key.decode("latin-1") if isinstance(key, bytes) else key
