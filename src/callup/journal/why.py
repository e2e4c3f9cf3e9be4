"""Why a client was called, or not: its rounds from the log, with scores where the method can be played again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from callup.core.catalogue import SELECTORS
from callup.core.errors import CallupError, InputError
from callup.core.types import Plan, Selection
from callup.journal.found import check_schema
from callup.journal.log import NAME, Story, read_log
from callup.journal.profiles import read_profiles
from callup.journal.replay import CannotReplay, replay
from callup.journal.turns import Played, played


@dataclass(frozen=True)
class Appearance:
    """One round in which the client was available."""

    index: int
    place: int | None
    """In the order of those asked, from 1; None when it was not."""
    asked: int
    available: int
    outcome: str
    """used, or why not; empty when it was not asked."""
    scores: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Account:
    """Everything the log says of one client."""

    client: int
    rounds: int
    appearances: list[Appearance]
    unexplained: str = ""
    """Why there are no scores, or none from some round on."""

    @property
    def calls(self) -> int:
        return sum(one.place is not None for one in self.appearances)

    @property
    def even_share(self) -> float:
        """Calls it would have had if each round's places had been drawn from those available."""
        return sum(one.asked / one.available for one in self.appearances)

    @property
    def score_names(self) -> list[str]:
        """What the method scores by, in the order it was first told."""
        return list(dict.fromkeys(name for one in self.appearances for name in one.scores))


def why(folder: Path, client: int) -> Account:
    """The client's story in the run of this folder, simulated or real."""
    if not (folder / NAME).exists():
        raise InputError(f"{folder} has no journal; only a run that kept one can say why")
    story = read_log(folder)
    check_schema(folder, story)
    profiles = read_profiles(folder)
    profile, turns = profiles.get(1), []
    for entry in story.entries:
        profile = profiles.get(entry.number, profile)
        if profile is None:
            raise InputError(f"{folder}: the profile of the clients is missing")
        turns.append(played(entry.number, entry.facts, entry.arrays, profile))
    if not any(client in turn.clients.ids for turn in turns):
        raise InputError(f"the run in {folder} knows no client {client}")
    chosen, unexplained = _selections(folder, story, turns)
    return Account(client, len(turns), list(_appearances(client, turns, chosen)), unexplained)


def _appearances(client: int, turns: list[Played], chosen: Mapping[int, Selection]) -> Iterator[Appearance]:
    for turn in turns:
        if client not in turn.available:
            continue
        asked = turn.asked.tolist()
        place = asked.index(client) + 1 if client in asked else None
        outcome = "" if place is None else turn.failed.get(client, "replied")
        scores = {}
        if place is not None and turn.index in chosen:
            row = chosen[turn.index].ids.tolist().index(client)
            scores = {name: float(values[row]) for name, values in chosen[turn.index].scores.items()}
        yield Appearance(turn.index, place, len(asked), len(turn.available), outcome, scores)


def _selections(folder: Path, story: Story, turns: list[Played]) -> tuple[dict[int, Selection], str]:
    """What the method chose in each round, played again as far as it comes out the same."""
    facts, found = {**story.head.facts, **story.head.facts.get("settings", {})}, dict[int, Selection]()
    if facts.get("guard", "off") != "off":
        return found, "the guard chooses too, by what it saw in the updates"
    try:
        first = turns[0].clients
        classes = facts.get("classes") or (first.all("label_counts").shape[1] if "label_counts" in first else None)
        plan = Plan(int(facts["k"]), facts.get("rounds"), classes)
        selector = SELECTORS.make(str(facts["selector"]))
        for verdict in replay(selector, plan, int(facts["seed"]), read_profiles(folder), story.entries):
            if not verdict.same or verdict.selection is None:
                return found, f"from round {verdict.index} on: {verdict.problem or 'something else chose too'}"
            found[verdict.index] = verdict.selection
    except CannotReplay as error:
        return found, str(error)
    except (CallupError, KeyError, TypeError, ValueError, IndexError) as error:
        return found, f"the method cannot be played again: {error}"
    return found, ""
