"""A picture of small whole numbers as a PNG in a data address: palette, transparency, nothing else."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence

import numpy as np

Colour = tuple[int, int, int, int]
"""Red, green, blue and opacity, 0 to 255."""


def png(cells: np.ndarray, palette: Sequence[Colour]) -> bytes:
    """`cells` holds an entry of the palette for each pixel, row by row."""
    height, width = cells.shape
    pixels = np.ascontiguousarray(cells, np.uint8)
    lines = np.hstack([np.zeros((height, 1), np.uint8), pixels])  # filter type 0 before each line
    depth, palette_colour = 8, 3
    return b"".join(
        [
            b"\x89PNG\r\n\x1a\n",
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, palette_colour, 0, 0, 0)),
            _chunk(b"PLTE", bytes(part for colour in palette for part in colour[:3])),
            _chunk(b"tRNS", bytes(colour[3] for colour in palette)),
            _chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)),
            _chunk(b"IEND", b""),
        ]
    )


def data_address(image: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(image).decode()


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
