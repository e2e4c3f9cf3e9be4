"""The record: who did what, how many strikes that makes, and who is not called until when.

Strikes fade after a while, a sentence ends by itself, and one strike alone never leads to quarantine.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from callup.core.index import Ids
from callup.core.per_client import PerClient
from callup.guard.offences import OFFENCES, code_of, offence

_MOST_EVENTS = 10_000


@dataclass(frozen=True)
class Objection:
    """One finding about one client in one round."""

    client: int
    name: str
    value: float = 0.0
    excused: bool = False
    """Most of the cohort did the same: the fault is the model's or the server's, and nobody gets a strike."""

    @property
    def strike(self) -> float:
        return 0.0 if self.excused else offence(self.name).strike

    @property
    def refuses(self) -> bool:
        return offence(self.name).refuses

    @property
    def reason(self) -> str:
        return f"guard: {self.name}"


@dataclass(frozen=True)
class Event:
    """A line of the record, for people."""

    index: int
    client: int
    name: str
    value: float

    def __str__(self) -> str:
        sentence = offence(self.name).sentence.format(value=self.value)
        return f"round {self.index}: client {self.client} {sentence}"


@dataclass
class Record:
    """Strikes and sentences, all in arrays."""

    strikes: PerClient
    """Of each client its strikes, and the round of the last one."""
    until: PerClient
    """The round before which a client is not called."""
    clients: np.ndarray
    facts: np.ndarray
    """Events, oldest first: `clients` says of whom, `facts` holds round, offence and value."""

    @classmethod
    def empty(cls) -> Record:
        return cls(PerClient(np.zeros(2)), PerClient(0, np.int64), np.empty(0, np.int64), np.empty((0, 3)))

    def away(self, ids: Ids, index: int) -> np.ndarray:
        """A mask: who is in quarantine in this round."""
        return np.asarray(self.until.get(ids) > index)

    def note(self, index: int, client: int, name: str, value: float) -> None:
        self.clients = np.append(self.clients, np.int64(client))[-_MOST_EVENTS:]
        fact = np.array([[index, code_of(name), value]])
        self.facts = np.concatenate([self.facts, fact])[-_MOST_EVENTS:]

    def judge(self, index: int, objections: Iterable[Objection], limit: float, memory: int, sentence: int) -> None:
        """Writes down objections; whoever reaches the limit is not called for a while.

        Strikes older than `memory` rounds are forgotten. After a sentence half the limit remains as a warning.
        """
        self._release(index)
        heaviest: dict[int, float] = {}
        for found in objections:
            self.note(index, found.client, found.name, found.value)
            # Several findings about one reply are one strike: nobody is set aside for a single appearance.
            heaviest[found.client] = max(heaviest.get(found.client, 0.0), found.strike)
        for client, weight in sorted(heaviest.items()):
            if not weight:
                continue
            one = np.array([client])
            count, last = self.strikes.get(one)[0]
            count = (0.0 if index - last > memory else count) + weight
            if count >= limit:
                self.quarantine(index, client, index + 1 + sentence, "quarantined")
                count = limit / 2
            self.strikes.set(one, np.array([[count, index]]))

    def quarantine(self, index: int, client: int, until: int, name: str) -> None:
        self.until.set(np.array([client]), until)
        self.note(index, client, name, float(until))

    def release(self, index: int, client: int) -> None:
        one = np.array([client])
        if self.until.knows(one)[0]:
            self.until.forget(one)
            self.strikes.forget(one)
            self.note(index, client, "released", 0.0)

    def _release(self, index: int) -> None:
        over = self.until.ids[self.until.values <= index]
        for client in over.tolist():
            self.note(index, client, "released", 0.0)
        self.until.forget(over)

    def events(self, index: int | None = None) -> list[Event]:
        """What is written down, oldest first; of one round alone where `index` is given."""
        rows = slice(None) if index is None else self.facts[:, 0] == index
        return [
            Event(int(fact[0]), client, OFFENCES[int(fact[1])].name, float(fact[2]))
            for client, fact in zip(self.clients[rows].tolist(), self.facts[rows], strict=True)
        ]
