"""The round log, written: an entry is on disk when `append` returns, or the log is as it was."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from callup.journal import crash
from callup.journal.disk import no_room, write_all, write_whole
from callup.journal.entries import Entry
from callup.journal.frames import FIRST, frame
from callup.journal.log import NAME, Story


class Log:
    """An open log. Entries are written behind one another and never changed."""

    def __init__(self, path: Path, end: int, check: int) -> None:
        self.path = path
        self._safe = end, check
        self._handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self._waiting: list[Entry] = []

    @classmethod
    def begun(cls, folder: Path, head: Entry) -> Log:
        """A new log with this head."""
        content, check = _framed([head], FIRST)
        write_whole(folder / NAME, content)
        return cls(folder / NAME, len(content), check)

    @classmethod
    def continued(cls, folder: Path, story: Story) -> Log:
        """The log that was read, cut back to its last sound round; damaged ones are set aside, not thrown away."""
        path = folder / NAME
        if story.damaged or story.after:
            set_aside(path)
            content, check = _framed([story.head, *story.entries], FIRST)
            write_whole(path, content)
            return cls(path, len(content), check)
        log = cls(path, story.end, story.check)
        if story.torn:
            os.ftruncate(log._handle, story.end)
            os.fsync(log._handle)
        return log

    @property
    def waiting(self) -> int:
        """Rounds that found no room and are kept in memory."""
        return len(self._waiting)

    def append(self, entry: Entry, sync: bool = True) -> None:
        """Writes the entry and those still waiting before it; after NoRoom the log is whole and they wait."""
        crash.point("before-append")
        self._waiting.append(entry)
        end, check = self._safe
        content, check = _framed(self._waiting, check)
        try:
            os.lseek(self._handle, end, os.SEEK_SET)
            write_all(self._handle, content, "half-append")
            crash.point("before-sync")
            if sync:
                os.fsync(self._handle)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._handle, end)
            raise no_room(self.path, error) from error
        self._safe = end + len(content), check
        self._waiting.clear()
        crash.point("after-append")

    def sync(self) -> None:
        """Whatever was written is on disk now."""
        try:
            os.fsync(self._handle)
        except OSError as error:
            raise no_room(self.path, error) from error

    def close(self) -> None:
        os.close(self._handle)


def _framed(entries: list[Entry], before: int) -> tuple[bytes, int]:
    """Frames of these entries after one with this checksum, and the checksum of the last."""
    parts = []
    for entry in entries:
        part, before = frame(entry.number, entry.content(), before)
        parts.append(part)
    return b"".join(parts), before


def set_aside(path: Path) -> None:
    """Keeps a damaged log under the next free name."""
    number = 1
    while (kept := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    kept.hardlink_to(path)  # the log keeps its name until the new one takes it, so there is always one
