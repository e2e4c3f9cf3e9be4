"""What is there when a run is opened again, and in which state."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from callup.core.errors import InputError
from callup.core.selector import Arrays
from callup.journal.entries import Entry
from callup.journal.log import NAME, Story

SCHEMA = 1


@dataclass
class Found:
    """What was there when a run was opened again."""

    head: Entry = field(default_factory=lambda: Entry(0, {}))
    """What was known when the run began."""
    entries: list[Entry] = field(default_factory=list)
    """Rounds 1, 2, ... as they were recorded; without those that could not be read, where gaps were asked for."""
    snapshot_round: int = 0
    """The round after which the newest sound snapshot was taken; 0 if there is none."""
    state: Arrays = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    """What was wrong and what was done about it, a sentence each."""


def check_schema(folder: Path, story: Story) -> None:
    found = story.head.facts.get("schema")
    if found != SCHEMA:
        raise InputError(f"{folder / NAME} has journal schema {found}, this version reads {SCHEMA}")


def damage(story: Story, gaps: bool) -> list[str]:
    """What is wrong with a log, and what is done about it, a sentence each."""
    notes = []
    if story.torn:
        notes.append(f"the last {story.torn:,} bytes of the journal are no whole round and were cut off")
    if story.damaged or story.after:
        what = f"the journal is sound up to round {len(story.entries)}; of what follows {len(story.after)} rounds are"
        kept = "kept, the others are lost" if gaps else "sound too, but not a beginning"
        notes.append(f"{what} {kept}; the damaged journal was set aside as {NAME}.damaged-*")
    return notes
