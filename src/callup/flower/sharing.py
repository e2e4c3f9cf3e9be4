"""Shares of label counts through Flower: the server collects what it cannot read and passes on what it cannot open.

client:   callup.flower.sharing.share(app, label_counts=..., pinned=key, epsilon=1.0, ledger=..., version="1")
server:   party = ServerParty("fed-cbs", exchange)            # the way to the selector's own process
          callup.flower.sharing.collect(grid, party)
          Selecting(FedAvg(), party.selector, k=10).start(grid, ...)
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from logging import INFO, WARNING
from typing import Any

import numpy as np
from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.common import log
from flwr.serverapp import Grid

from callup.core.errors import InputError, UsageError
from callup.core.spec import build
from callup.flower import wire
from callup.flower.exchange import listen, push, reason_of
from callup.flower.greeting import Acquaintances
from callup.privacy.joining import ClientParty
from callup.privacy.ledger import Ledger
from callup.privacy.serving import ServerParty

SHARES = "query.callup_shares"
_TERMS, _CLIENT, _FOR_SERVER, _FOR_SELECTOR = "terms", "client", "for-server", "for-selector"
_PAUSE = 0.2


@dataclass(frozen=True)
class Joining:
    """How a client takes part: what it counts, and what it decides about noise and the selector's key."""

    label_counts: Callable[[Context], Any]
    pinned: str
    """The selector's key. Both shares pass through the server here: sealed to its own key it could read the two."""
    epsilon: float | None = None
    ledger: Callable[[Context], Ledger] | None = None
    version: str = ""

    def answer(self, note: ConfigRecord, context: Context) -> ConfigRecord:
        terms, client = note.get(_TERMS), note.get(_CLIENT)
        if not isinstance(terms, bytes) or not isinstance(client, int):
            raise InputError("a request for shares came without terms")
        ledger = None if self.ledger is None else self.ledger(context)
        party = ClientParty(client, self.epsilon, ledger, self.version, self.pinned)
        counts = np.asarray(self.label_counts(context))
        for_server, for_selector = party.join(terms, counts)
        return ConfigRecord({_FOR_SERVER: for_server, _FOR_SELECTOR: for_selector})


class SharingApp(ClientApp):
    """A ClientApp that answers requests for shares; all else goes on to the app it was."""

    joining: Joining

    def __call__(self, message: Message, context: Context) -> Message:
        if message.metadata.message_type != SHARES:
            return super().__call__(message, context)
        told = self.joining.answer(wire.note_of(message.content), context)
        return Message(RecordDict({wire.KEY: told}), reply_to=message)


def share(app: ClientApp, **how: Any) -> ClientApp:
    """Makes the app split its label counts between server and selector when asked; see `Joining` for the settings."""
    if isinstance(app, SharingApp):
        raise UsageError("share was called twice on one app")
    if not isinstance(how.get("pinned"), str) or not how["pinned"]:
        raise UsageError("share needs pinned, the selector's key as its operator told you; the server must not name it")
    joining = build(Joining, "share", how)
    app.__class__ = type("SharingApp", (SharingApp, type(app)), {})
    made: Any = app
    made.joining = joining
    return app


def collect(grid: Grid, party: ServerParty, seconds: float = 60.0) -> list[int]:
    """Asks every node for its shares, hands the selector's on, and has the inner products made; returns whose.

    Waits until all of the selector's roster are here or the seconds are over; with fewer than the minimum it fails.
    """
    ends = time.monotonic() + seconds
    known = Acquaintances()
    while True:
        nodes = list(grid.get_node_ids())
        known.greet(grid, nodes, [], seconds)
        known.hear(grid, nodes, max(ends - time.monotonic(), 0.0))
        if len(known.cards) >= len(party.roster) or time.monotonic() >= ends:
            break
        time.sleep(_PAUSE)
    messages = [
        Message(
            RecordDict({wire.KEY: ConfigRecord({_TERMS: party.client_terms, _CLIENT: client})}),
            known.roster.node(client),
            SHARES,
            ttl=seconds,
        )
        for client in sorted(known.cards)
        if client in party.roster
    ]
    for node, reply, _ in listen(grid, push(grid, messages), max(ends - time.monotonic(), 1.0)).replies:
        try:
            _hand_over(party, reply)
        except InputError as problem:
            log(WARNING, "callup: no share of client %s: %s", known.roster.client(node), problem)
    ids = party.compute()
    log(INFO, "callup: the selector has the inner products of %d clients", len(ids))
    return ids


def _hand_over(party: ServerParty, reply: Message) -> None:
    if reply.has_error():
        raise InputError(reason_of(reply))
    told = wire.note_of(reply.content)
    for_server, for_selector = told.get(_FOR_SERVER), told.get(_FOR_SELECTOR)
    if not isinstance(for_server, bytes) or not isinstance(for_selector, bytes):
        raise InputError("the client app does not share; add callup.flower.sharing.share(app, label_counts=...)")
    party.take(for_server)
    party.pass_on(for_selector)
