"""Writing so that it stays written, and reading without trusting: whole files or nothing, synced in the right order."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from callup.core.errors import CallupError, InputError
from callup.journal import crash

MOST_TEXT = 1 << 20
"""Bytes of a settings file; a larger one is not ours."""
MOST_ARRAYS = 1 << 32
"""Bytes of a file of arrays. A claim above it is refused before anything is set aside for it."""

_PRIVATE = 0o600


class NoRoom(CallupError):
    """The disk is full, or may not be written to any more; what was there before is still whole."""

    exit_code = 7


def no_room(path: Path, error: OSError) -> NoRoom:
    return NoRoom(f"cannot write {path}: {error.strerror or error}")


def private_folder(folder: Path) -> None:
    """Makes the folder for its owner alone; one that is there already keeps its rights."""
    if folder.is_dir():
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    sync_folder(folder.parent)


def write_whole(path: Path, content: bytes, *, snapshot: bool = False) -> None:
    """Replaces a file by another, so that after a crash there is the old one or the new one and never a piece.

    The order is what counts: content to disk, then the name, then the folder that holds the name.
    """
    draft = path.with_name(f".{path.name}.draft")
    try:
        draft.unlink(missing_ok=True)
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _PRIVATE)
        try:
            write_all(handle, content, "snapshot-half" if snapshot else None)
            _point("snapshot-unsynced", snapshot)
            os.fsync(handle)
        finally:
            os.close(handle)
        _point("snapshot-unnamed", snapshot)
        draft.replace(path)
        _point("snapshot-named", snapshot)
        sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise no_room(path, error) from error


def write_all(handle: int, content: bytes, half: str | None = None) -> None:
    """Every byte; `half` names the crash point after half of them."""
    if half is not None and crash.due(half):
        os.write(handle, content[: len(content) // 2])
        crash.die()
    view = memoryview(content)
    while view:
        view = view[os.write(handle, view) :]


def sync_folder(folder: Path) -> None:
    """Names of files are on disk only when their folder is; where folders cannot be opened there is nothing to do."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def open_regular(path: Path, most: int) -> tuple[int, int]:
    """A handle and a size. A pipe, a device or a file beyond the limit is refused, not waited for."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | os.O_CLOEXEC)
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise InputError(f"{path} is not a plain file")
        if found.st_size > most:
            raise InputError(f"{path} has {found.st_size:,} bytes, at most {most:,} are read")
    except BaseException:
        os.close(handle)
        raise
    return handle, found.st_size


def read_whole(path: Path, most: int) -> bytes:
    """All bytes of a plain file up to this size."""
    handle, size = open_regular(path, most)
    with os.fdopen(handle, "rb") as file:
        return file.read(size)  # not `most`: a read sets aside what it is asked for


def read_text(path: Path, most: int = MOST_TEXT) -> str:
    """The same as text; what is not UTF-8 is damage."""
    try:
        return read_whole(path, most).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is damaged: {error}") from error


def _point(name: str, wanted: bool) -> None:
    if wanted:
        crash.point(name)
