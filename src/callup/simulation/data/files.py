"""Reading bytes with care: a size is believed only after it was compared with what is really there."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from callup.core.errors import InputError

_CHUNK = 1 << 20
_DEFLATE = 1032
"""The most bytes one packed byte can become: a larger claim is false."""


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Whatever the system or an unpacker says against the file becomes one sentence with its name."""
    try:
        yield
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: cannot be read, {getattr(error, 'strerror', None) or error}") from error


def whole(path: Path) -> bytes:
    """All bytes of a plain file."""
    with reading(path):
        return path.read_bytes()


@contextmanager
def opened(path: Path) -> Iterator[tuple[IO[bytes] | gzip.GzipFile, int]]:
    """The file as a stream, unpacked when it ends in .gz, and the most bytes that can come out of it."""
    with reading(path):
        size = path.stat().st_size
        if path.suffix == ".gz":
            with gzip.open(path, "rb") as unpacked:
                yield unpacked, unpacked_at_most(size)
        else:
            with path.open("rb") as plain:
                yield plain, size


def unpacked_at_most(packed: int) -> int:
    """How large so many packed bytes can become."""
    return packed * _DEFLATE


def take(stream: IO[bytes] | gzip.GzipFile, size: int, path: Path) -> bytearray:
    """Exactly so many bytes and then the end; memory grows with what is read, not with what was promised."""
    got = bytearray()
    while len(got) < size:
        chunk = stream.read(min(_CHUNK, size - len(got)))
        if not chunk:
            raise InputError(f"{path}: ends after {len(got):,} of {size:,} bytes; it is cut short, fetch it again")
        got += chunk
    if stream.read(1):
        raise InputError(f"{path}: goes on after the {size:,} bytes its header promises; fetch it again")
    return got
