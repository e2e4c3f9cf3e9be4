"""Pictures packed losslessly into a few large WebP mosaics, to keep a dataset small; decoding needs Pillow."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from callup.core.errors import InputError
from callup.simulation.data.npz import Archive


def read_mosaics(archive: Archive, part: str) -> np.ndarray:
    """The tiles of `webp_<part>_0`, `webp_<part>_1`, ... in order, as uint8 (count, channels, height, width).

    `n_<part>` says how many tiles each mosaic holds, `cols` how many stand in a row, `shape` is (height, width, 3).
    """
    counts = archive.array(f"n_{part}", "iu", (None,)).tolist()
    columns = int(archive.array("cols", "iu", ()))
    height, width, channels = archive.array("shape", "iu", (3,)).tolist()
    if channels != 3 or min(height, width, columns, *counts) < 1:
        raise InputError(
            f"{archive.path}: mosaics of {counts} tiles of shape ({height}, {width}, {channels}) "
            f"in {columns} columns make no sense"
        )
    parts = []
    for i, count in enumerate(counts):
        rows = -(-count // columns)
        encoded = archive.array(f"webp_{part}_{i}", "u1", (None,))
        picture = _decoded(encoded.tobytes(), (columns * width, rows * height), f"webp_{part}_{i}", archive.path)
        tiles = picture.reshape(rows, height, columns, width, 3).transpose(0, 2, 4, 1, 3)
        parts.append(tiles.reshape(rows * columns, 3, height, width)[:count])
    return np.concatenate(parts)


def _decoded(content: bytes, size: tuple[int, int], name: str, path: Path) -> np.ndarray:
    """An RGB picture of (width, height); its own header must agree before anything is unpacked."""
    pillow = _pillow(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pillow.DecompressionBombWarning)
            with pillow.open(io.BytesIO(content), formats=["WEBP"]) as picture:
                if picture.size != size or picture.mode != "RGB":
                    raise InputError(
                        f"{path}: '{name}' is a {picture.mode} picture of {picture.size}, expected RGB of {size}"
                    )
                return np.asarray(picture)
    except (OSError, SyntaxError, pillow.DecompressionBombWarning, pillow.DecompressionBombError) as error:
        raise InputError(f"{path}: '{name}' is not a WebP picture that can be decoded ({error})") from error


def _pillow(path: Path) -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise InputError(f"{path}: its pictures need Pillow; install it with: pip install 'callup[data]'") from error
    return Image
