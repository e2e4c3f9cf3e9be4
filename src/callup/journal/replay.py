"""Plays recorded rounds to a fresh selector and compares whom it names: the proof that nothing else chose.

The selector is given what it was given then: the profile, who was available, the answers to its probes, the replies.
Its randomness comes from the same addresses: `stream(seed, "start", "selector")`, and `"select"`, `"update"` and
`"roster"` with the number of the round.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from callup.core.clients import Clients
from callup.core.errors import CallupError, InputError
from callup.core.index import Ids, Index
from callup.core.randomness import stream
from callup.core.selector import Selector
from callup.core.types import Feedback, Plan, Round, Selection
from callup.core.verify import ask
from callup.journal.entries import Entry
from callup.journal.turns import Played, digest, played


class CannotReplay(InputError):
    """The log leaves out something the selector was given; the sentence says what."""


@dataclass(frozen=True)
class Verdict:
    """One round: whom the log says was asked and whom the selector names now, as digests; `problem` says more."""

    index: int
    recorded: str
    recomputed: str
    problem: str = ""
    selection: Selection | None = None
    """What it chose now, with the scores that the log does not hold."""

    @property
    def same(self) -> bool:
        return self.recorded == self.recomputed and not self.problem


def replay(
    selector: Selector, plan: Plan, seed: int, profiles: Mapping[int, Clients], entries: Iterable[Entry]
) -> Iterator[Verdict]:
    """A verdict for each round, up to and including the first that differs: after it the state is another one."""
    if 1 not in profiles:
        raise CannotReplay("the profile that the selector saw was not recorded")
    profile, known = profiles[1], None
    for entry in entries:
        profile = profiles.get(entry.number, profile)
        turn = played(entry.number, entry.facts, entry.arrays, profile)
        if turn.dropped:
            raise CannotReplay(f"round {turn.index}: the log holds only a digest of {', '.join(turn.dropped)}")
        # One table as long as it stays the same: what a selector derives from it is kept with it.
        if known is None:
            selector.start(turn.clients, plan, stream(seed, "start", "selector"))
            known = turn.clients
        elif not _same(turn.clients, known):
            selector.roster(turn.clients, stream(seed, "roster", turn.index))
            known = turn.clients
        verdict = _one(selector, turn, known, seed)
        yield verdict
        if not verdict.same:
            return


def _same(one: Clients, other: Clients) -> bool:
    """A table that was only written again, as after a crash, is not a new one."""
    return (
        np.array_equal(one.ids, other.ids)
        and one.columns.keys() == other.columns.keys()
        and all(
            one.all(name) is other.all(name) or np.array_equal(one.all(name), other.all(name)) for name in one.columns
        )
    )


def _one(selector: Selector, turn: Played, clients: Clients, seed: int) -> Verdict:
    recorded = digest(turn.asked)
    answers = _Answers(turn)
    now = Round(turn.index, turn.available, clients, stream(seed, "select", turn.index), answers.ask)
    try:
        selection = ask(selector, now, turn.wanted)
        heard = answers.heard
        rng = stream(seed, "update", turn.index)
        feedback = Feedback(turn.index, turn.replied, turn.signals, clients, turn.failed, heard, selection.notes, rng)
        selector.update(feedback)
    except CallupError as error:
        return Verdict(turn.index, recorded, "", str(error))
    return Verdict(turn.index, recorded, digest(selection.ids), _weights(turn, selection), selection)


def _weights(turn: Played, selection: Selection) -> str:
    found = None if selection.weights is None else digest(np.asarray(selection.weights, np.float64))
    return "" if found == turn.weights else "the aggregation weights differ"


class _Answers:
    """Answers probes with what was heard then; a question that was not asked then has no answer."""

    def __init__(self, turn: Played) -> None:
        self._turn = turn
        self.heard: dict[str, tuple[Ids, np.ndarray]] = {}

    def ask(self, name: str, ids: Ids) -> np.ndarray:
        if name not in self._turn.probed:
            raise InputError(f"'{name}' is probed now and was not then")
        asked, answers = self._turn.probed[name]
        order = np.argsort(asked, kind="stable")
        firsts = np.concatenate([[True], np.diff(asked[order]) > 0])[: len(asked)]
        rows = Index(asked[order][firsts]).rows(np.asarray(ids))
        found = np.asarray(answers[order][firsts][rows])
        before = self.heard.get(name, (asked[:0], answers[:0]))
        self.heard[name] = (np.concatenate([before[0], ids]), np.concatenate([before[1], found]))
        return found
