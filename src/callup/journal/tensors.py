"""Named arrays and a few facts as safetensors, with a checksum over all of it. Nothing in such a file can run."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from callup.core.errors import InputError
from callup.core.selector import Arrays
from callup.journal.disk import MOST_ARRAYS, read_whole

Facts = dict[str, Any]
_KEY = "callup"  # one key only: safetensors writes several in any order, and equal runs must be equal bytes
_DIGITS = 8


def pack(arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]) -> bytes:
    """One block of bytes; `facts` are plain JSON values."""
    # Not ascontiguousarray, which turns a single number into a row of one.
    whole = {name: np.asarray(array, order="C") for name, array in sorted(arrays.items())}
    text = json.dumps(facts, allow_nan=False, separators=(",", ":"), default=_plain)
    return save(whole, {_KEY: f"{_checksum(whole, text):08x}{text}"})


def unpack(content: bytes, where: str) -> tuple[Arrays, Facts]:
    """What `pack` packed; anything else, or a single changed bit, is refused by name."""
    try:
        arrays = load(content)
        size = int.from_bytes(content[:8], "little")
        said = json.loads(content[8 : 8 + size])["__metadata__"][_KEY]
        check, text = said[:_DIGITS], said[_DIGITS:]
        facts = json.loads(text)
    except (SafetensorError, KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise InputError(f"{where} is damaged: {str(error) or type(error).__name__}") from error
    if not isinstance(facts, dict) or check != f"{_checksum(arrays, text):08x}":
        raise InputError(f"{where} is damaged: its checksum does not fit")
    return arrays, facts


def read_tensors(path: Path) -> tuple[Arrays, Facts]:
    """The arrays and facts of a file."""
    return unpack(read_whole(path, MOST_ARRAYS), str(path))


def _plain(value: Any) -> Any:
    """Numbers of numpy's own kinds as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is no plain value")


def _checksum(arrays: Mapping[str, np.ndarray], text: str) -> int:
    check = zlib.crc32(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        check = zlib.crc32(f"{name}\0{array.dtype.str}\0{array.shape}".encode(), check)
        check = zlib.crc32(np.ravel(array).view(np.uint8).data, check)
    return check
