"""A run on disk, so that a server that died goes on where it was: at most the round it was in is played again."""

from __future__ import annotations

import json
from logging import INFO, WARNING
from pathlib import Path
from typing import Any

from flwr.app import ArrayRecord
from flwr.common import log
from flwr.serverapp.strategy import Result

from callup.core.basis import told_by
from callup.core.clients import Clients
from callup.core.errors import InputError, UsageError
from callup.flower.called import Called
from callup.flower.restoring import arrays_of, facts_of, restore, restore_metrics, settings_of
from callup.flower.session import Session, same_table
from callup.flower.story import Story
from callup.journal import Entry, Journal, Pace, Turn, read_profiles, record_turn, write_profile
from callup.journal.disk import write_whole
from callup.journal.tensors import pack

_SHOWN = ("num_examples", "label_counts")


class Recorder:
    """Writes each round before the next one starts; without a folder it keeps the history in memory only."""

    def __init__(self, run: str | Path | None, resume: bool) -> None:
        if resume and run is None:
            raise UsageError("resume=True needs the directory of the run: Selecting(..., run='runs/a', resume=True)")
        self._folder, self._resume = None if run is None else Path(run), resume
        self._journal: Journal | None = None
        self._profile: Clients | None = None
        self.history: list[dict[str, Any]] = []

    def open(self, session: Session, arrays: ArrayRecord, result: Result) -> tuple[ArrayRecord, int]:
        """The model to go on from and the rounds already played."""
        if self._folder is None:
            return arrays, 0
        # A round of a real federation cannot be computed again: a snapshot after every one.
        self._journal = Journal(self._folder, pace=Pace(rounds=1), say=lambda text: log(WARNING, "callup: %s", text))
        if not self._journal.exists:
            settings = {"runtime": "flower", **settings_of(session)}
            self._journal.begin({"rounds": session.rounds, **settings})
            write_whole(self._folder / "config.toml", _toml({"schema": 1, "rounds": session.rounds, **settings}))
            self._write_events(self._folder)
            return arrays, 0
        if not self._resume:
            raise UsageError(
                f"{self._folder} holds a run already; continue it with resume=True, or name another folder"
            )
        return self._resumed(self._journal, self._folder, session, result) or (arrays, 0)

    def _resumed(
        self, journal: Journal, folder: Path, session: Session, result: Result
    ) -> tuple[ArrayRecord, int] | None:
        found = journal.resume(gaps=True)
        for note in found.notes:
            log(WARNING, "callup: %s", note)
        if not found.entries:
            return None
        last = found.entries[-1]
        if found.snapshot_round != last.number:
            raise InputError(
                f"{folder} cannot be continued: round {last.number} is recorded, but the newest sound snapshot "
                f"is of round {found.snapshot_round}"
            )
        model = restore(session, last, found.state, folder)
        self._profile = session.seen_before = next(reversed(read_profiles(folder).values()), None)
        for entry in found.entries:
            self.history.append(entry.facts["record"])
            restore_metrics(entry, result)
        self._write_events(folder)
        log(INFO, "callup: %s is continued after round %d", folder, last.number)
        return model, last.number

    def round(self, session: Session, story: Story, arrays: ArrayRecord) -> None:
        """The round is on disk when this returns."""
        record = story.record()
        record["clock"] = record["seconds"] + (self.history[-1]["clock"] if self.history else 0.0)
        basis = told_by(record["notes"])
        if basis and basis != (told_by(self.history[-1]["notes"]) if self.history else None):
            log(INFO, "callup: %s goes by %s", session.selector.spec, basis)
        self.history.append(record)
        log(INFO, "callup: %s", story.line(session.crew.known.roster))
        if self._folder is None or story.called is None or story.feedback is None:
            return
        if self._journal is None:
            raise UsageError(
                "run= is kept by Selecting.start; call strategy.start(grid=...), not the rounds one by one"
            )
        called = story.called
        profile = self._write_clients(self._folder, story.index, called)
        turn = Turn(called.now, called.asked_for, called.selection, story.feedback)
        facts, numbers = record_turn(turn, profile)
        # The snapshot first: one that is ahead of the log is passed over, and the round is then played again.
        self._journal.snapshot(story.index, lambda: arrays_of(session, arrays), last=True)
        self._journal.append(Entry(story.index, {**facts, **facts_of(session, story, record, arrays)}, numbers))
        with (self._folder / "events.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, allow_nan=False) + "\n")

    def _write_clients(self, folder: Path, index: int, called: Called) -> Clients:
        """What the selector saw, for checks, and what is known of clients, for reports; again when it changes."""
        if self._profile is None or not same_table(self._profile, called.now.clients):
            self._profile = called.now.clients
            write_profile(folder, index, self._profile)
            columns = {name: called.everything.all(name) for name in _SHOWN if name in called.everything}
            write_whole(folder / "clients.safetensors", pack({"ids": called.everything.ids, **columns}, {"schema": 1}))
        return self._profile

    def _write_events(self, folder: Path) -> None:
        text = "".join(json.dumps(record, allow_nan=False) + "\n" for record in self.history)
        write_whole(folder / "events.jsonl", text.encode())

    def close(self) -> None:
        if self._journal is not None:
            self._journal.close()
            self._journal = None


def _toml(values: dict[str, Any]) -> bytes:
    # A JSON string or whole number is one in TOML too.
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items()).encode()
