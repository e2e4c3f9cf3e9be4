"""The round log, read: everything it tells, whatever was done to it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from callup.core.errors import InputError
from callup.journal.disk import open_regular
from callup.journal.entries import Entry, read_entry
from callup.journal.frames import FIRST, frames

NAME = "journal"
LOST = "lost"
"""The fact of an entry that stands for one that could not be read."""
_MOST = 1 << 40
_MISSING = 1000


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

    def bridged(self) -> list[Entry]:
        """Every sound round up to the last one; between them, where one cannot be read, an entry that says so."""
        sound = {entry.number: entry for entry in [*self.entries, *self.after]}
        last = max(sound, default=0)
        if last > len(sound) + self.damaged + _MISSING:
            return self.entries  # a number of that size is damage too
        return [sound.get(number, Entry(number, {LOST: True})) for number in range(1, last + 1)]


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
