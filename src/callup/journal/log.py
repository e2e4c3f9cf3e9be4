"""The round log: an entry is on disk when `append` returns, or the log is as it was."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field
from pathlib import Path

from callup.core.errors import InputError
from callup.journal import crash
from callup.journal.disk import no_room, open_regular, write_all, write_whole
from callup.journal.entries import Entry, read_entry
from callup.journal.frames import FIRST, frame, frames

NAME = "journal"
_MOST = 1 << 40


class HeadLost(InputError):
    """The log does not begin with a readable head, so nothing in it can be told."""


@dataclass
class Story:
    """A log as it was found."""

    head: Entry
    entries: list[Entry] = field(default_factory=list)
    """Rounds 1, 2, ... without a gap."""
    after: list[Entry] = field(default_factory=list)
    """Sound rounds that come after a damaged one."""
    damaged: int = 0
    """Entries that are there and cannot be read."""
    torn: int = 0
    """Bytes at the end that are no entry."""
    end: int = 0
    """Where the last entry of `entries` ends."""
    check: int = FIRST
    """Its checksum."""

    @property
    def whole(self) -> bool:
        return not (self.damaged or self.torn or self.after)


def read_head(folder: Path) -> Entry:
    """The head alone: what the run began with."""
    handle, size = open_regular(folder / NAME, _MOST)
    try:
        first = next(frames(handle, size), None)
        head = None if first is None else _entry(first.number, first.content)
    finally:
        os.close(handle)
    if head is None or head.number != 0:
        raise HeadLost(f"{folder / NAME} is damaged: its head cannot be read")
    return head


def read_log(folder: Path) -> Story:
    """Everything the log tells, whatever was done to it; without a readable head there is no log."""
    handle, size = open_regular(folder / NAME, _MOST)
    try:
        found = [(made, _entry(made.number, made.content)) for made in frames(handle, size)]
    finally:
        os.close(handle)
    first, head = found[0] if found else (None, None)
    if first is None or head is None or head.number != 0:
        raise HeadLost(f"{folder / NAME} is damaged: its head cannot be read")
    story = Story(head, end=first.end, check=first.check)
    for made, entry in found[1:]:
        if entry is None:
            story.damaged += 1
        elif entry.number == len(story.entries) + 1 and not story.damaged:
            story.entries.append(entry)
            story.end, story.check = made.end, made.check
        else:
            story.after.append(entry)
    story.torn = size - found[-1][0].end
    return story


def _entry(number: int, content: bytes | None) -> Entry | None:
    if content is None:
        return None
    try:
        return read_entry(number, content)
    except InputError:
        return None


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
