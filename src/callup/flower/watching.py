"""The guard of a run, where there is one; without it, impossible replies still lead to quarantine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from logging import WARNING

import numpy as np
from flwr.common import log

from callup.core.clients import Clients
from callup.core.errors import UsageError
from callup.core.index import Ids
from callup.core.randomness import stream
from callup.core.selector import Method, Selector
from callup.core.types import Plan, Replies, Round, Selection
from callup.core.verify import ask
from callup.flower.quarantine import Quarantine
from callup.flower.roster import Roster
from callup.guard.guard import guard_for
from callup.guard.record import Objection
from callup.guard.review import Verdict


class Watch:
    """Between what clients say and what selectors hear."""

    def __init__(self, guard: str, selector: Selector, strikes: int, seed: int, trees: bool) -> None:
        self.guard = guard_for(guard, selector)
        self.quarantine = Quarantine(strikes)
        self._seed = seed
        self._verdicts: list[Verdict] = []
        if self.guard is not None and trees:
            raise UsageError("the guard compares updates, and trees have none; leave guard out with FedXgbBagging")

    def methods(self) -> Iterator[tuple[str, Method]]:
        if self.guard is not None:
            yield "guard", self.guard

    def start(self, everything: Clients, plan: Plan) -> None:
        if self.guard is not None:
            self.guard.start(everything, plan, stream(self._seed, "start", "guard"))

    def roster(self, everything: Clients) -> None:
        if self.guard is not None:
            self.guard.roster(everything)

    def believed(self, visible: Clients) -> Clients:
        return visible if self.guard is None else self.guard.profile(visible)

    def out(self, index: int, ids: Ids) -> set[int]:
        """Who of these is in quarantine."""
        away = set() if self.guard is None else {int(client) for client in self.guard.away(index, ids)}
        return away | self.quarantine.out(index)

    def admit(self, index: int, online: Ids, k: int) -> Ids:
        return online if self.guard is None else self.guard.admit(index, online, k)

    def ask(self, selector: Selector, now: Round, k: int, online: Ids) -> Selection:
        return ask(selector, now, k) if self.guard is None else self.guard.ask(selector, now, k, online)

    def heard(self, name: str, ids: Ids, values: np.ndarray) -> np.ndarray:
        """A signal as selectors hear it."""
        return values if self.guard is None else self.guard.scale(name, ids, values)

    def inspect(self, replies: Replies, everything: Clients) -> dict[int, str]:
        """Whose reply is refused, and why."""
        if self.guard is None or not len(replies.ids):
            return {}
        self._verdicts.append(self.guard.review(replies, everything))
        return self._verdicts[-1].refused

    def learn(
        self,
        index: int,
        online: Ids,
        k: int,
        selection: Selection,
        probed: Mapping[str, tuple[Ids, np.ndarray]],
        blamed: Mapping[int, str],
        roster: Roster,
    ) -> list[str]:
        """One round is over; sentences say what was done about whom."""
        if self.guard is None:
            return self._struck(index, blamed, roster)
        crowd = 2 * len(blamed) > max(len(selection.ids), 2)  # when most are wrong, the fault is not theirs
        others = [Objection(client, _offence(reason), 1.0, excused=crowd) for client, reason in blamed.items()]
        self.guard.learn(index, online, selection, k, self._verdicts, probed, others)
        self._verdicts = []
        return [str(event) for event in self.guard.report(index)]

    def _struck(self, index: int, blamed: Mapping[int, str], roster: Roster) -> list[str]:
        said = []
        for client, reason in blamed.items():
            out = self.quarantine.strike(client, index, reason)
            name = roster.name(client)
            said.append(f"round {index}: a reply of client {name} is set aside: {reason}")
            if out:
                said.append(f"round {index}: client {name} is not called until round {self.quarantine.until[client]}")
        return said


def tell(sentences: list[str]) -> None:
    for sentence in sentences:
        log(WARNING, "callup: %s", sentence)


def _offence(reason: str) -> str:
    if "not finite" in reason:
        return "not finite"
    return "wrong shape" if "shape" in reason or "arrays" in reason or "Record" in reason else "out of range"
