"""Plays a run and keeps it on disk as it happens; begins it or, where the folder holds one, continues it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from threadpoolctl import threadpool_limits

from callup.core.clients import Clients
from callup.core.errors import CallupError, InputError
from callup.journal import crash
from callup.journal.entries import Entry
from callup.journal.found import Found
from callup.journal.journal import Journal, Pace, Say, WhenFull
from callup.journal.lock import RunInUse, held
from callup.journal.log import NAME, HeadLost, read_head
from callup.journal.profiles import write_profile
from callup.simulation.engine import Engine, Listener
from callup.simulation.events import Events
from callup.simulation.records import entry_of, record_in
from callup.simulation.run import RoundRecord, Run
from callup.simulation.settings import Settings
from callup.simulation.store import load_run, versions, write_clients, write_config

_FREE = {"workers", "target", "scenario", "rare_classes"}


class Diverged(CallupError):
    """A recorded round comes out differently when it is computed again."""


@dataclass(frozen=True)
class Recording:
    """How a run is kept. Nothing in it changes a number of the run."""

    pace: Pace | None = None
    when_full: WhenFull = "stop"
    forget: bool = False
    """Goes on from the newest snapshot and sets later rounds aside, instead of computing them again."""
    say: Say | None = None
    found: Callable[[Found], None] | None = None
    """Told what was there when a run is continued."""


class Recorder:
    """One run and its folder. The folder is locked from the first byte written to the last."""

    def __init__(self, settings: Settings, folder: Path, how: Recording | None = None) -> None:
        if holder := held(folder):
            raise RunInUse(folder, holder)
        self.settings, self.folder, self._how = settings, folder, how or Recording()
        self.engine = Engine(settings)
        self.in_memory = False
        """Whether rounds of it found no room on disk."""

    @property
    def clients(self) -> Clients:
        return self.engine.world.clients

    def run(self, listener: Listener | None = None) -> Run:
        """Plays every round that is left; `listener` hears of those that were there already, too."""
        how = self._how
        journal = Journal(self.folder, pace=how.pace, when_full=how.when_full, say=how.say)
        with journal, Events(self.folder) as events, threadpool_limits(1):
            done = self._continue(journal) if journal.exists else self._begin(journal)
            events.rewrite(done)
            told: Listener = listener or (lambda _: None)
            for record in done:
                told(record)

            def keep(record: RoundRecord) -> None:
                turn = self.engine.turn
                if turn is None:
                    raise CallupError("no round was played")
                journal.append(entry_of(record, turn, self.engine.profile))
                events.add(record, journal.waiting == 0)
                journal.snapshot(record.index, self.engine.state, last=record.index == self.settings.rounds)
                told(record)

            self.engine.run(keep)
            if len(done) == self.settings.rounds:  # complete already, but perhaps its last snapshot was damaged
                journal.snapshot(len(done), self.engine.state, last=True)
            self.in_memory = journal.waiting > 0
            if self.in_memory and how.say is not None:
                how.say(
                    f"warning: {journal.waiting} of {self.settings.rounds} rounds never found room on disk; make some "
                    f"and have them computed again with: callup resume {self.folder}"
                )
        return self.engine.result()

    def close(self) -> None:
        self.engine.close()

    def _begin(self, journal: Journal) -> list[RoundRecord]:
        write_config(self.folder, self.settings.plain())
        crash.point("config-written")
        self._write_tables()
        facts = {"settings": self.settings.plain(), "classes": self.engine.world.classes, "versions": versions()}
        journal.begin({"runtime": "simulation", **facts})
        return []

    def _continue(self, journal: Journal) -> list[RoundRecord]:
        try:
            _check_settings(read_head(self.folder), self.settings, self.folder)  # before anything is set aside
            found = journal.resume(self._how.forget)
        except HeadLost as error:
            journal.found.notes.append(f"{error}; it is set aside and every round is computed again")
            self._tell(journal.found)
            return self._begin(journal)
        records = [record_in(entry, self.engine.profile) for entry in found.entries]
        if len(records) > self.settings.rounds:
            raise InputError(f"{self.folder} holds {len(records)} rounds, its settings say {self.settings.rounds}")
        if found.snapshot_round:
            try:
                self.engine.restore(found.state, records[: found.snapshot_round])
            except (InputError, KeyError, ValueError, TypeError) as error:
                found.notes.append(f"the snapshot of round {found.snapshot_round} does not fit this version: {error}")
                found.snapshot_round = 0
                self.engine.close()
                self.engine = Engine(self.settings)
        self._tell(found)
        self._write_tables()  # whatever happened to them
        for record in records[found.snapshot_round :]:
            _compare(record, self.engine.play(record.index), self.folder)
            journal.snapshot(record.index, self.engine.state)  # the way back is not gone twice
        found.entries.clear()  # they are in the log, and a long run should not carry them along
        found.state.clear()
        return records

    def _write_tables(self) -> None:
        write_clients(self.folder, self.clients)
        write_profile(self.folder, 1, self.engine.profile)

    def _tell(self, found: Found) -> None:
        if self._how.found is not None:
            self._how.found(found)


def finished(folder: Path, settings: Settings) -> Run | None:
    """The run in this folder if it began with these settings, has every round and a sound end state."""
    try:
        run = load_run(folder)
        changed = (folder / NAME).exists() and changed_settings(read_head(folder), settings, folder)
    except (InputError, OSError):
        return None
    return run if not changed and len(run.history) == settings.rounds and run.states else None


def _check_settings(head: Entry, settings: Settings, folder: Path) -> None:
    """A run goes on as it began. More rounds are another run, too: some methods plan by them."""
    if changed := changed_settings(head, settings, folder):
        raise InputError(
            f"{folder / 'config.toml'} says another {' and '.join(changed)} than the run began with; put it back, or "
            f"begin a new run"
        )


def changed_settings(head: Entry, settings: Settings, folder: Path) -> list[str]:
    """Settings that are not those a run began with; those that change no round do not count."""
    then, now = head.facts.get("settings"), settings.plain()
    if not isinstance(then, dict):
        raise InputError(f"{folder} was not made by the simulator")
    return sorted(name for name in {*then, *now} - _FREE if then.get(name) != now.get(name))


def _compare(recorded: RoundRecord, again: RoundRecord, folder: Path) -> None:
    if recorded == again:
        return
    names = [name for name in vars(recorded) if getattr(recorded, name) != getattr(again, name)]
    raise Diverged(
        f"round {recorded.index} comes out differently when computed again ({', '.join(names)}): was this run made on "
        f"another machine or version? To go on from its newest snapshot: callup resume {folder} --forget"
    )
