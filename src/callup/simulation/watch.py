"""The guard and the liars of a run. Where there is neither, everything passes through as it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from callup.core.clients import Clients
from callup.core.index import Ids
from callup.core.randomness import stream
from callup.core.selector import Method, Selector
from callup.core.types import Feedback, Plan, Replies, Round, Selection
from callup.core.verify import ask
from callup.guard.guard import guard_for
from callup.guard.record import Objection
from callup.guard.review import Verdict
from callup.simulation.adversaries.base import ADVERSARIES
from callup.simulation.run import RoundRecord

_SPOKEN_OF = 0.2  # of the clients collude: the share the promise is spelled out for


def summary(history: Sequence[RoundRecord]) -> list[str]:
    """What the guard promised and did in a run, in two sentences; nothing without a guard."""
    if not history or not history[0].guard:
        return []
    refused = sum(reason.startswith("guard") for record in history for reason in record.failed.values())
    away = {line.split(" is not called")[0] for record in history for line in record.guard if "is not called" in line}
    clients = {line.partition(": ")[2] for line in away}
    did = f"the guard refused {refused} replies and set {len(clients)} clients aside"
    return [history[0].guard[0], did + ("; events.jsonl says why" if refused or clients else "")]


class Watch:
    """Between what clients say and what selectors hear: first the lie, then the guard."""

    def __init__(
        self, guard: str, adversary: str | None, selector: Selector, clients: Clients, plan: Plan, seed: int
    ) -> None:
        self.guard = guard_for(guard, selector)
        self.enemy = ADVERSARIES.make(adversary) if adversary else None
        self._plan, self._seed = plan, seed
        self._owners: np.ndarray | None = None
        self._verdicts: list[Verdict] = []
        if self.enemy is not None:
            self.enemy.start(clients, plan, stream(seed, "start", "adversary"))
            self._owners = self.enemy.owners(clients)
        self.claimed = clients
        true = clients.only("num_examples", "label_counts")
        self._sizes = self._believed(true if self.enemy is None else self.enemy.claim(true))

    def methods(self) -> Iterator[tuple[str, Method]]:
        """Whose state is part of the run's."""
        if self.guard is not None:
            yield "guard", self.guard
        if self.enemy is not None:
            yield "adversary", self.enemy

    def profile(self, true: Clients) -> Clients:
        """The table as selectors see it; the guard begins with it."""
        self.claimed = true if self.enemy is None else self.enemy.claim(true)
        if self.guard is not None:
            self.guard.start(self._owned(self.claimed), self._plan, stream(self._seed, "start", "guard"))
        return self._believed(self.claimed)

    def roster(self, ids: Ids) -> None:
        """Clients joined or left."""
        if self.guard is not None:
            self.guard.roster(self._owned(self.claimed).among(ids))

    def sizes(self, ids: Ids) -> np.ndarray:
        """The sizes that replies are weighed by."""
        return self._sizes.of("num_examples", ids)

    def _believed(self, claimed: Clients) -> Clients:
        return claimed if self.guard is None else self.guard.profile(claimed)

    def _owned(self, claimed: Clients) -> Clients:
        if self._owners is None:
            return claimed
        return Clients(claimed.ids, **claimed.columns, owner=self._owners)

    def admit(self, index: int, online: Ids, k: int) -> Ids:
        return online if self.guard is None else self.guard.admit(index, online, k)

    def ask(self, selector: Selector, now: Round, k: int, online: Ids) -> Selection:
        return ask(selector, now, k) if self.guard is None else self.guard.ask(selector, now, k, online)

    def answer(self, index: int, name: str, ids: Ids, values: np.ndarray) -> np.ndarray:
        """What clients answer to a probe."""
        return values if self.enemy is None else self.enemy.answer(index, name, ids, values)

    def heard(self, name: str, ids: Ids, values: np.ndarray) -> np.ndarray:
        """A signal as selectors hear it."""
        return values if self.guard is None else self.guard.scale(name, ids, values)

    def seconds(self, index: int, ids: Ids, seconds: np.ndarray) -> np.ndarray:
        return seconds if self.enemy is None else self.enemy.seconds(index, ids, seconds)

    def reply(self, index: int, replies: Replies) -> Replies:
        """Replies as they are sent."""
        return replies if self.enemy is None else self.enemy.reply(index, replies)

    def inspect(self, index: int, replies: Replies) -> dict[int, str]:  # noqa: ARG002
        """Whose reply is refused, and why."""
        if self.guard is None:
            return {}
        self._verdicts.append(self.guard.review(replies, self.claimed))
        return self._verdicts[-1].refused

    def learn(self, online: Ids, k: int, selection: Selection, replies: Replies, feedback: Feedback) -> list[str]:
        """One round is over; sentences say what the guard did."""
        if self.enemy is not None:
            self.enemy.learn(feedback.index, replies)
        if self.guard is None:
            return []
        others = self._broken(selection, feedback.failed)
        self.guard.learn(feedback.index, online, selection, k, self._verdicts, feedback.probed, others)
        self._verdicts = []
        promise = [f"guard on: {self.guard.bound(_SPOKEN_OF)}"] if feedback.index == 1 else []
        return promise + [str(event) for event in self.guard.report(feedback.index)]

    def _broken(self, selection: Selection, failed: Mapping[int, str]) -> list[Objection]:
        """Replies that were set aside before the guard saw them; when most are, or without data, nobody is to blame."""
        broken = [client for client, why in failed.items() if why == "not finite"]
        crowd = 2 * len(broken) > max(len(selection.ids), 2)
        return [Objection(i, "not finite", 1.0, excused=crowd or not self.sizes(np.array([i]))[0]) for i in broken]
