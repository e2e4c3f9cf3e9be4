"""events.jsonl: the rounds for people and programs that know nothing of the journal, one JSON line each.

It is a copy of what the journal holds. A line is written when its round is safe, and after a crash the file is written
anew.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections.abc import Iterable
from pathlib import Path

from callup.core.errors import InputError
from callup.journal import crash
from callup.journal.disk import read_text, write_all, write_whole
from callup.simulation.records import record_from
from callup.simulation.run import RoundRecord

NAME = "events.jsonl"
_MOST = 1 << 31


class Events:
    """The file, open for one more line at a time."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._handle = -1
        self._end = 0
        self._late: list[RoundRecord] = []

    def rewrite(self, records: Iterable[RoundRecord]) -> None:
        """These rounds and no others."""
        content = "".join(map(_line, records)).encode()
        write_whole(self._path, content)
        self._end = len(content)
        self._handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)

    def add(self, record: RoundRecord, safe: bool) -> None:
        """One more line, and those that waited; a round that is not safe yet waits. A full disk costs only lines."""
        self._late.append(record)
        if not safe:
            return
        content = "".join(map(_line, self._late)).encode()
        try:
            write_all(self._handle, content, "half-event")
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._handle, self._end)  # or the next line would follow half of this one
            return
        self._end += len(content)
        self._late.clear()
        crash.point("after-event")

    def __enter__(self) -> Events:
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle >= 0:
            with contextlib.suppress(OSError):
                os.fsync(self._handle)
            os.close(self._handle)


def read_events(folder: Path) -> list[RoundRecord]:
    """Every round in the file; a last line that was cut off while being written is left out."""
    path = folder / NAME
    lines = read_text(path, _MOST).splitlines()
    records = []
    for number, line in enumerate(lines, 1):
        try:
            values = json.loads(line)
        except (ValueError, RecursionError) as error:
            if number == len(lines):
                break
            raise InputError(f"{path}, line {number} is damaged: {error}") from error
        records.append(record_from(values, f"{path}, line {number}"))
        if records[-1].index != number:
            raise InputError(f"{path}, line {number} is damaged: it is round {records[-1].index}")
    return records


def _line(record: RoundRecord) -> str:
    return json.dumps(dataclasses.asdict(record), allow_nan=False) + "\n"
