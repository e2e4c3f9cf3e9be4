"""The journal of a run: who may write to it, what happened in each round, and what had been learned by then.

A round is on disk before the next one starts. A runtime that can compute a round again from the one before it (the
simulator) takes a snapshot now and then; one that cannot (a real federation) takes one after every round.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from callup.core.errors import InputError
from callup.journal import crash
from callup.journal.appending import Log, set_aside
from callup.journal.disk import NoRoom, private_folder
from callup.journal.entries import Entry
from callup.journal.found import SCHEMA, Found, check_schema, damage
from callup.journal.lock import Lock
from callup.journal.log import LOST, NAME, read_log
from callup.journal.snapshots import newest, write_snapshot

WhenFull = Literal["stop", "continue"]
Say = Callable[[str], None]


@dataclass(frozen=True)
class Pace:
    """How often a snapshot is taken: after so many rounds, or after the first round that ends so many seconds later.

    The log is synced after every round unless `sync` allows so many seconds in between. A crash of the process loses
    nothing either way; a crash of the machine then costs rounds that must be computed again.
    """

    rounds: int = 10
    seconds: float = 30.0
    sync: float = 0.0


class Journal:
    """Written by one process at a time. `when_full`: a full disk stops the run, or the run goes on in memory."""

    def __init__(
        self, folder: Path, *, pace: Pace | None = None, when_full: WhenFull = "stop", say: Say | None = None
    ) -> None:
        self.folder, self.found = folder, Found()
        self._pace = pace or Pace()
        self._when_full, self._say = when_full, say or (lambda _: None)
        self._log: Log | None = None
        private_folder(folder)
        self._lock = Lock(folder)
        crash.point("run-locked")
        if self._lock.left_by:
            self.found.notes.append(f"{self._lock.left_by}, died while it was writing here")
        for draft in folder.glob(".*.draft"):
            draft.unlink(missing_ok=True)
        self._last = (0, time.monotonic())
        self._synced = time.monotonic()

    @property
    def exists(self) -> bool:
        """Whether rounds were, or could have been, written here before."""
        return (self.folder / NAME).exists()

    def begin(self, facts: Mapping[str, Any]) -> None:
        """A new log; its head holds the schema and these facts. One that is there is set aside, not lost."""
        if self.exists:
            set_aside(self.folder / NAME)
        self._log = Log.begun(self.folder, Entry(0, {"schema": SCHEMA, **facts}))
        crash.point("journal-begun")

    def resume(self, forget: bool = False, gaps: bool = False) -> Found:
        """Opens the log that is there, puts right what a crash left of it, and tells what there is to go on from.

        `forget` sets the rounds after the newest snapshot aside, for those who cannot compute them again. `gaps` is for
        runtimes that never can: sound rounds after a damaged one are kept, and the damaged one is missing.
        """
        story = read_log(self.folder)
        check_schema(self.folder, story)
        self.found.notes += damage(story, gaps)
        if gaps:
            story.entries = story.bridged()
        snapshot = newest(self.folder, len(story.entries), self.found.notes)
        if forget:
            known = 0 if snapshot is None else snapshot.index
            self.found.notes.append(f"{len(story.entries) - known} rounds after round {known} were set aside")
            story.after, story.entries = story.entries[known:], story.entries[:known]
        self._log = Log.continued(self.folder, story)
        self.found.head = story.head
        self.found.entries = [entry for entry in story.entries if LOST not in entry.facts]
        if snapshot is not None:
            self.found.snapshot_round, self.found.state = snapshot.index, snapshot.arrays
        self._last = (self.found.snapshot_round, time.monotonic())
        return self.found

    def append(self, entry: Entry) -> None:
        """The round is written when this returns. On a full disk: NoRoom, or a warning and the round kept in memory."""
        if self._log is None:
            raise InputError(f"the journal in {self.folder} was neither begun nor resumed")
        waited, now = self._log.waiting, time.monotonic()
        due = now - self._synced >= self._pace.sync
        try:
            self._log.append(entry, due)
            self._synced = now if due else self._synced
        except NoRoom as error:
            if self._when_full == "stop":
                raise
            self._say(f"warning: {error}; rounds in memory only: {self._log.waiting}")
            return
        if waited:
            self._say(f"there is room again; rounds written that were in memory only: {waited}")

    def snapshot(self, index: int, state: Callable[[], Mapping[str, np.ndarray]], last: bool = False) -> None:
        """Takes a snapshot after round `index` if one is due; `state` is asked for only then."""
        rounds, since = index - self._last[0], time.monotonic() - self._last[1]
        if not (last or rounds >= self._pace.rounds or since >= self._pace.seconds) or rounds <= 0:
            return
        if self.waiting:
            return  # a snapshot must not be ahead of the log
        try:
            if self._log is not None and self._pace.sync:
                self._log.sync()  # a snapshot must not be ahead of the log after a crash of the machine either
            write_snapshot(self.folder, index, state())
        except NoRoom as error:
            if self._when_full == "stop":
                raise
            self._say(f"warning: {error}; the snapshot of round {index} is left out")
            return
        self._last = (index, time.monotonic())

    @property
    def waiting(self) -> int:
        """Rounds that are in memory only."""
        return 0 if self._log is None else self._log.waiting

    def close(self) -> None:
        """Lets go of the run. What is on disk stays as it is."""
        if self._log is not None:
            self._log.close()
            self._log = None
        self._lock.release()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self.close()
