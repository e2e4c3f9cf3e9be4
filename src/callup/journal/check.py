"""Was this run what its files say? The part that holds for every runtime: checksums, and selections played again."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from callup.core.catalogue import SELECTORS
from callup.core.errors import InputError
from callup.core.types import Plan
from callup.journal.disk import read_text
from callup.journal.found import check_schema
from callup.journal.log import NAME, Story, read_log
from callup.journal.profiles import read_profiles
from callup.journal.replay import CannotReplay, replay
from callup.journal.snapshots import read_snapshot, snapshots

Progress = Callable[[int], None]
_MOST = 1 << 31


@dataclass
class Verified:
    """What was found; the run is what it says when `problems` is empty."""

    folder: Path
    rounds: int = 0
    """Rounds whose selection came out the same."""
    how: str = "nothing compared"
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def check_files(folder: Path, result: Verified) -> Story | None:
    """The log, if there is one, after a look at it and at the snapshots."""
    for _, path in snapshots(folder):
        try:
            read_snapshot(path)
        except FileNotFoundError:
            continue  # the run goes on while it is looked at, and old snapshots go
        except (InputError, OSError) as error:
            result.problems.append(str(error))
    if not (folder / NAME).exists():
        return None
    story = read_log(folder)
    check_schema(folder, story)
    if story.damaged or story.after:
        result.problems.append(f"the journal is damaged after round {len(story.entries)}")
    elif story.torn:
        result.notes.append(f"the journal ends in {story.torn:,} bytes of a round that was being written")
    return story


def check_selections(
    folder: Path, story: Story, spec: str, seed: int, plan: Plan, result: Verified, told: Progress
) -> None:
    """Plays the log to the method; CannotReplay where it leaves something out."""
    result.how = "replayed from the journal"
    for verdict in replay(SELECTORS.make(spec), plan, seed, read_profiles(folder), story.entries):
        if not verdict.same:
            why = verdict.problem or f"recorded {verdict.recorded}, recomputed {verdict.recomputed}"
            result.problems.append(f"round {verdict.index}: the selection differs: {why}")
            return
        result.rounds = verdict.index
        told(verdict.index)


def verify_federation(folder: Path, progress: Progress | None = None) -> Verified:
    """A run of real clients: they cannot be asked again, so what the log holds is all that can be compared."""
    result = Verified(folder)
    story = check_files(folder, result)
    if story is None:
        raise InputError(f"{folder} has no journal")
    _compare_events(folder, story, result)
    facts = story.head.facts
    try:
        spec, seed, k = str(facts["selector"]), int(facts["seed"]), int(facts["k"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{folder / NAME} does not say how the clients were chosen: {error}") from error
    if result.problems:
        return result
    profile = read_profiles(folder).get(1)
    classes = None if profile is None or "label_counts" not in profile else profile.all("label_counts").shape[1]
    try:
        plan = Plan(k, facts.get("rounds"), classes)
        check_selections(folder, story, spec, seed, plan, result, progress or (lambda _: None))
    except CannotReplay as error:
        result.how = "by its checksums alone"
        result.notes.append(str(error))
    return result


def _compare_events(folder: Path, story: Story, result: Verified) -> None:
    try:
        shown = [json.loads(line) for line in read_text(folder / "events.jsonl", _MOST).splitlines()]
    except (OSError, ValueError, RecursionError) as error:
        result.problems.append(f"events.jsonl cannot be read: {error}")
        return
    for number, (entry, record) in enumerate(zip(story.entries, shown, strict=False), 1):
        if entry.facts.get("record") != record:
            result.problems.append(f"round {number}: events.jsonl and the journal tell different stories")
            return
