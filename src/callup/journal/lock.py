"""One process at a time writes to a run: a lock that says who holds it and that nobody has to remove."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from datetime import UTC, datetime
from pathlib import Path

from callup.core.errors import CallupError
from callup.journal.disk import write_all

NAME = "lock"
_MOST = 4096


class RunInUse(CallupError):
    """Another process is writing to this run."""

    def __init__(self, folder: Path, holder: str) -> None:
        super().__init__(f"{folder} is in use by {holder or 'another process'}; wait until it ends")


class Lock:
    """Held from its making to `release`. The system lets go of it when the process dies, however it dies."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._handle = _locked(folder)
        self.left_by = _holder(self._handle)
        """Who held it and died without letting go; empty when nobody did."""
        mine = {"pid": os.getpid(), "host": socket.gethostname(), "since": _now()}
        os.ftruncate(self._handle, 0)
        with contextlib.suppress(OSError):  # a full disk: the lock holds, it only cannot say whose it is
            write_all(self._handle, json.dumps(mine).encode())

    def release(self) -> None:
        """Lets go, and leaves nothing behind. Letting go twice does no harm."""
        if self._handle < 0:
            return
        with contextlib.suppress(OSError):
            self._path.unlink()  # while it is still held, so that the file of another holder is never taken away
        os.close(self._handle)
        self._handle = -1


def held(folder: Path) -> str:
    """Who is writing to this run now; empty when nobody is."""
    try:
        handle = os.open(folder / NAME, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return "" if _take(handle) else _holder(handle) or "another process"
    finally:
        os.close(handle)


def _locked(folder: Path) -> int:
    """A handle on the lock file, taken."""
    path = folder / NAME
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if not _take(handle):
            holder = _holder(handle)
            os.close(handle)
            raise RunInUse(folder, holder)
        # Whoever held it may have removed the file between our opening and our taking: then it is nobody's lock.
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), path.stat()):
                return handle
        os.close(handle)


def _take(handle: int) -> bool:
    try:
        import fcntl
    except ImportError:  # not on this system: the lock then names its holder but stops nobody
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _holder(handle: int) -> str:
    """As the lock tells it; a lock that tells nothing sensible is taken as silent."""
    try:
        said = json.loads(os.pread(handle, _MOST, 0))
        return f"process {int(said['pid'])} on {str(said['host'])[:80]}, since {str(said['since'])[:40]}"
    except (ValueError, KeyError, TypeError, RecursionError, OSError):
        return ""


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
