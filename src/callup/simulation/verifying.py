"""Was this simulated run what it says? Every selection is played again from the log, or, where the log cannot hold
enough, the whole run is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from callup.core.errors import CallupError
from callup.core.types import Plan
from callup.journal.check import Progress, Verified, check_files, check_selections, verify_federation
from callup.journal.entries import Entry
from callup.journal.log import NAME, Story, read_head
from callup.journal.profiles import read_profiles
from callup.journal.replay import CannotReplay
from callup.simulation.engine import Engine
from callup.simulation.recorder import changed_settings
from callup.simulation.records import entry_of, record_in
from callup.simulation.run import Run
from callup.simulation.settings import Settings, read_settings
from callup.simulation.store import CONFIG, load_run


def verify_run(folder: Path, again: bool = False, progress: Progress | None = None) -> Verified:
    """Compares a run with its log and its log with what the method chooses; `again` computes the training too."""
    if (folder / NAME).exists() and read_head(folder).facts.get("runtime") != "simulation":
        return verify_federation(folder, progress)
    run, settings = load_run(folder), read_settings(folder / CONFIG)
    result, told = Verified(folder), progress or (lambda _: None)
    story = check_files(folder, result)
    if story is None:
        result.notes.append("there is no journal; so the run was computed again")
    else:
        _compare_shown(folder, story, run, settings, result)
    if result.problems:
        return result
    if story is not None and not again:
        try:
            _refuse_what_is_not_the_methods_alone(settings)
            plan = Plan(settings.k, settings.rounds, story.head.facts.get("classes"))
            check_selections(folder, story, settings.selector, settings.seed, plan, result, told)
            return result
        except CannotReplay as error:
            result.notes.append(f"{error}; so the run was computed again")
            result.rounds = 0
    _compute_again(run, settings, story, result, told)
    return result


def _refuse_what_is_not_the_methods_alone(settings: Settings) -> None:
    if settings.plain().get("guard", "off") != "off":
        raise CannotReplay("the guard chooses too, by what it saw in the updates")


def _compare_shown(folder: Path, story: Story, run: Run, settings: Settings, result: Verified) -> None:
    """What the run shows to the world against what it wrote down."""
    if changed := changed_settings(story.head, settings, folder):
        result.problems.append(f"{CONFIG} says another {' and '.join(changed)} than the run began with")
    profile = read_profiles(folder).get(1)
    if profile is None:
        result.problems.append("the profile of the clients is missing")
    if profile is None or result.problems:
        return
    for entry, record in zip(story.entries, run.history, strict=False):
        if record_in(entry, profile) != record:
            result.problems.append(f"round {entry.number}: events.jsonl and the journal tell different stories")
            return
    if len(run.history) > len(story.entries):
        result.problems.append(f"events.jsonl has {len(run.history)} rounds, the journal {len(story.entries)}")


def _compute_again(run: Run, settings: Settings, story: Story | None, result: Verified, told: Progress) -> None:
    result.how = "computed again"
    entries = [] if story is None else story.entries
    engine = Engine(settings)
    try:
        with threadpool_limits(1):
            for record in run.history:
                fresh = engine.play(record.index)
                if fresh != record:
                    names = [name for name in vars(record) if getattr(record, name) != getattr(fresh, name)]
                    result.problems.append(f"round {record.index}: comes out with another {', '.join(names)}")
                    return
                if engine.turn is not None and record.index <= len(entries):
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
