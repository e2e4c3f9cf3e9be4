"""IDX, the format of MNIST and Fashion-MNIST: a magic number, big-endian sizes, then the bytes."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np

from callup.core.errors import InputError
from callup.simulation.data.files import opened, take

_UNSIGNED_BYTE = 0x08


def read_idx(path: Path, dimensions: int) -> np.ndarray:
    """The uint8 array of a file with so many dimensions (1 for labels, 3 for images), plain or .gz."""
    with opened(path) as (stream, most):
        head = stream.read(4 + 4 * dimensions)
        # Bytes 0 and 1 are zero, byte 2 is the type of the elements, byte 3 the number of dimensions.
        if head[:4] != bytes((0, 0, _UNSIGNED_BYTE, dimensions)):
            raise InputError(
                f"{path}: is not an IDX file of bytes in {dimensions} dimensions: it begins with "
                f"{head[:4].hex() or 'nothing'} instead of 000008{dimensions:02x}"
            )
        if len(head) < 4 + 4 * dimensions:
            raise InputError(f"{path}: ends inside its header; fetch it again")
        shape = struct.unpack(f">{dimensions}I", head[4:])
        size = math.prod(shape)
        if size == 0 or size > most:
            raise InputError(f"{path}: declares the shape {shape}, which a file of its length cannot hold")
        return np.frombuffer(take(stream, size, path), np.uint8).reshape(shape)
