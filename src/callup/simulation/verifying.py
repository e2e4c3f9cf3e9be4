"""Was this run what it says? Every selection is computed again from the log, or, where the log cannot hold enough, the
whole run is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from callup.core.catalogue import SELECTORS
from callup.core.errors import CallupError, InputError
from callup.core.types import Plan
from callup.journal.entries import Entry
from callup.journal.journal import check_schema
from callup.journal.log import NAME, read_log
from callup.journal.profiles import read_profiles
from callup.journal.replay import CannotReplay, replay
from callup.journal.snapshots import read_snapshot, snapshots
from callup.simulation.engine import Engine
from callup.simulation.records import entry_of, record_in
from callup.simulation.run import Run
from callup.simulation.settings import Settings, read_settings
from callup.simulation.store import CONFIG, load_run

Progress = Callable[[int], None]


@dataclass
class Verified:
    """What was found; the run is what it says when `problems` is empty."""

    folder: Path
    rounds: int = 0
    """Rounds whose selection came out the same."""
    how: str = "nothing to compare"
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def verify_run(folder: Path, again: bool = False, progress: Progress | None = None) -> Verified:
    """Compares a run with its log and its log with what the method chooses; `again` computes the training too."""
    run, settings = load_run(folder), read_settings(folder / CONFIG)
    result = Verified(folder)
    entries = _journal(folder, run, settings, result)
    told = progress or (lambda _: None)
    if result.problems:
        return result
    if entries is not None and not again and settings.plain().get("guard", "off") == "off":
        try:
            _replay(folder, settings, entries, result, told)
            return result
        except CannotReplay as error:
            result.notes.append(f"{error}; so the run was computed again")
            result.rounds = 0
    elif entries is None:
        result.notes.append("there is no journal; so the run was computed again")
    _again(run, settings, entries, result, told)
    return result


def _journal(folder: Path, run: Run, settings: Settings, result: Verified) -> list[Entry] | None:
    """The rounds of the log, after comparing them with what the run shows to the world."""
    if not (folder / NAME).exists():
        return None
    story = read_log(folder)
    check_schema(folder, story)
    if story.damaged or story.after:
        result.problems.append(f"the journal is damaged after round {len(story.entries)}: callup resume {folder}")
    elif story.torn:
        result.notes.append(f"the journal ends in {story.torn:,} bytes of a round that was being written")
    if story.head.facts.get("settings") != settings.plain():
        result.problems.append(f"{CONFIG} does not say what the run began with")
    profile = read_profiles(folder).get(1)
    if profile is None:
        result.problems.append("the profile of the clients is missing")
    elif not result.problems:
        shown = {record.index: record for record in run.history}
        for entry in story.entries:
            if shown.get(entry.number) not in (None, record_in(entry, profile)):
                result.problems.append(f"round {entry.number}: events.jsonl and the journal tell different stories")
                break
        if len(shown) > len(story.entries):
            result.problems.append(f"events.jsonl has {len(shown)} rounds, the journal {len(story.entries)}")
    for _, path in snapshots(folder):
        try:
            read_snapshot(path)
        except (InputError, OSError) as error:
            result.problems.append(str(error))
    return story.entries


def _replay(folder: Path, settings: Settings, entries: Iterable[Entry], result: Verified, told: Progress) -> None:
    result.how = "replayed from the journal"
    head = read_log(folder).head.facts
    plan = Plan(settings.k, settings.rounds, head.get("classes"))
    selector = SELECTORS.make(settings.selector)
    for verdict in replay(selector, plan, settings.seed, read_profiles(folder), entries):
        if not verdict.same:
            why = verdict.problem or f"recorded {verdict.recorded}, recomputed {verdict.recomputed}"
            result.problems.append(f"round {verdict.index}: the selection differs: {why}")
            return
        result.rounds = verdict.index
        told(verdict.index)


def _again(run: Run, settings: Settings, entries: list[Entry] | None, result: Verified, told: Progress) -> None:
    result.how = "computed again"
    engine = Engine(settings)
    try:
        with threadpool_limits(1):
            for record in run.history:
                fresh = engine.play(record.index)
                if fresh != record:
                    names = [name for name in vars(record) if getattr(record, name) != getattr(fresh, name)]
                    result.problems.append(f"round {record.index}: comes out with another {', '.join(names)}")
                    return
                if entries is not None and engine.turn is not None and record.index <= len(entries):
                    kept = entry_of(fresh, engine.turn, engine.profile)
                    if not _same(kept, entries[record.index - 1]):
                        result.problems.append(f"round {record.index}: the journal holds other reports")
                        return
                result.rounds = record.index
                told(record.index)
    except CallupError as error:
        result.problems.append(f"round {result.rounds + 1}: {error}")
    finally:
        engine.close()


def _same(one: Entry, other: Entry) -> bool:
    """Digests of what was too large are among the facts, so those are compared too."""

    def plain(entry: Entry) -> Any:
        return entry.facts, {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in entry.arrays.items()}

    return bool(plain(one) == plain(other))
