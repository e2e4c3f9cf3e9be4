"""Numpy's .npz: a zip of arrays, read without pickles and without believing the shapes it declares."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal

import numpy as np

from callup.core.errors import InputError
from callup.simulation.data.files import reading, take, unpacked_at_most

_ENCRYPTED = 1


class Archive:
    """An open .npz; each array is asked for with the type and shape it must have (None: any length)."""

    def __init__(self, path: Path, files: zipfile.ZipFile) -> None:
        self.path = path
        self._files = files
        self._members = {info.filename.removesuffix(".npy"): info for info in files.infolist()}

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def array(self, name: str, dtype: str, shape: tuple[int | None, ...]) -> np.ndarray:
        """The array of this name; `dtype` as numpy writes it ("u1", "i8") or its kind alone ("iu": whole numbers)."""
        if name not in self._members:
            raise InputError(f"{self.path}: has no array '{name}'; it holds {', '.join(self._members) or 'nothing'}")
        info = self._members[name]
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or info.flag_bits & _ENCRYPTED:
            raise InputError(f"{self.path}: '{name}' is packed in a way numpy never uses")
        if info.file_size > unpacked_at_most(info.compress_size):
            raise InputError(f"{self.path}: '{name}' claims {info.file_size:,} bytes, more than it can unpack to")
        with self._files.open(info) as stream:
            found, order, kind = self._header(stream, name)
            if (
                not _is(kind, dtype)
                or len(found) != len(shape)
                or any(want not in (None, got) for want, got in zip(shape, found, strict=True))
            ):
                shown = ", ".join("any" if want is None else str(want) for want in shape)
                raise InputError(f"{self.path}: '{name}' is {kind} of shape {found}, expected {dtype} of ({shown})")
            size = math.prod(found) * kind.itemsize
            if size != info.file_size - stream.tell():
                raise InputError(f"{self.path}: '{name}' declares the shape {found}, which its length contradicts")
            content = take(stream, size, self.path)
        array: np.ndarray = np.frombuffer(content, kind).reshape(found, order=order)
        return array

    def _header(self, stream: IO[bytes], name: str) -> tuple[tuple[int, ...], Literal["C", "F"], np.dtype]:
        """Shape, order and type as numpy's own header states them; numpy reads the text as a literal, never as code."""
        try:
            version = np.lib.format.read_magic(stream)
            read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
            shape, fortran, kind = read(stream)
        except (ValueError, KeyError) as error:
            raise InputError(f"{self.path}: '{name}' is not a numpy array") from error
        if kind.hasobject:
            raise InputError(f"{self.path}: '{name}' holds Python objects, which are never loaded")
        return shape, "F" if fortran else "C", kind


def _is(kind: np.dtype, wanted: str) -> bool:
    return kind == np.dtype(wanted) if wanted[-1].isdigit() else kind.kind in wanted


@contextmanager
def open_npz(path: Path) -> Iterator[Archive]:
    """The archive, closed at the end; anything but a whole zip is refused by name."""
    with reading(path), zipfile.ZipFile(path) as files:
        yield Archive(path, files)
