"""Getting to know nodes: each is asked once who it is, what it can answer and what is known of it before any round."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from logging import INFO, WARNING
from typing import Any

import numpy as np
from flwr.app import ConfigRecord, Message, RecordDict
from flwr.common import log
from flwr.serverapp import Grid

from callup.core.errors import InputError
from callup.core.signals import SIGNALS
from callup.flower import wire
from callup.flower.exchange import Exchange, listen, push, reason_of
from callup.flower.roster import Introduction, Roster, name_of


@dataclass(frozen=True)
class Card:
    """What one node said of itself."""

    answers: frozenset[str]
    facts: Mapping[str, np.ndarray]
    tags: Mapping[str, Any]


@dataclass
class Acquaintances:
    """Everybody known so far, by client number."""

    roster: Roster = field(default_factory=Roster)
    cards: dict[int, Card] = field(default_factory=dict)
    doubles: dict[int, Message] = field(default_factory=dict)
    """Nodes that say they are a client whose node is still there. A node that was restarted is one until Flower finds
    out, after up to a minute, that the old one is gone."""
    underway: Exchange | None = None
    complaints: dict[int, str] = field(default_factory=dict)
    """Client to what it said in place of an answer."""
    asked: set[int] = field(default_factory=set)
    """Nodes that have been greeted."""

    def greet(self, grid: Grid, nodes: Iterable[int], wanted: list[str], seconds: float) -> None:
        """Asks new nodes who they are. Sends and returns; `hear` collects what has come."""
        new = [node for node in nodes if node not in self.asked]
        if not new:
            return
        self.asked.update(new)
        note = ConfigRecord({wire.HELLO: True, wire.WANT: list(wanted)})
        messages = [Message(RecordDict({wire.KEY: note}), node, wire.QUERY, ttl=seconds) for node in new]
        fresh = push(grid, messages)
        if self.underway is not None:
            fresh.waiting |= self.underway.waiting
        self.underway = fresh

    def hear(self, grid: Grid, online: Iterable[int], seconds: float) -> list[int]:
        """Takes in whoever has answered, waiting at most so long; returns the clients that are new."""
        if self.underway is None and not self.doubles:
            return []
        here = set(online)
        told = {node: reply for node, reply in self.doubles.items() if node in here}
        told |= self._heard(grid, seconds)
        registered = {node.node_id: node.name for node in grid.get_nodes()}
        notes = {node: _note(reply) for node, reply in told.items()}
        arrived = [Introduction(node, name_of(note, registered.get(node, ""), node)) for node, note in notes.items()]
        refused = self.roster.admit(arrived, here)
        for node, reason in refused.items():
            if node not in self.doubles:
                log(WARNING, "callup: node %s is left out: %s", node, reason)
        self.doubles = {node: told[node] for node in refused}
        return [self._introduce(node, notes[node], told[node]) for node in told if node not in refused]

    def _heard(self, grid: Grid, seconds: float) -> dict[int, Message]:
        if self.underway is None:
            return {}
        heard = listen(grid, self.underway, seconds)
        told = {node: reply for node, reply, _ in heard.replies}
        self.asked -= set(heard.unreachable.values())  # the question was lost on the way: it is asked again
        heard.replies.clear()
        heard.unreachable.clear()
        if not heard.waiting:
            self.underway = None
        return told

    def _introduce(self, node: int, note: Mapping[str, Any], reply: Message) -> int:
        client = self.roster.client(node)
        assert client is not None  # admitted above
        listed = note.get(wire.ANSWERS)
        answers = [name for name in listed if name in SIGNALS] if isinstance(listed, list) else []
        facts = {}
        for name in answers:
            if name in note:
                try:
                    facts[name] = wire.unpack(name, note[name])
                except InputError as problem:
                    log(WARNING, "callup: client %s: %s", self.roster.name(client), problem)
        tags = {name.removeprefix(wire.TAG): value for name, value in note.items() if name.startswith(wire.TAG)}
        self.cards[client] = Card(frozenset(answers), facts, tags)
        if reply.has_error():
            if not self.complaints:  # once: without Callup in the client app all of them say the same
                log(INFO, "callup: client %s answers no questions: %s", self.roster.name(client), reason_of(reply))
            self.complaints[client] = reason_of(reply)
        return client


def _note(reply: Message) -> Mapping[str, Any]:
    return {} if reply.has_error() else dict(wire.note_of(reply.content))
