"""One round under way: who was called, what each reply was worth, and what the selector is told in the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from flwr.app import ArrayRecord, Message

from callup.core.clients import Clients
from callup.core.errors import MissingSignal
from callup.core.index import Ids
from callup.core.types import Replies, Round, Selection
from callup.flower import wire
from callup.flower.bad_reply import BadReply
from callup.flower.exchange import Exchange
from callup.flower.forms import bring_into_form
from callup.flower.local_model import ModelCheck
from callup.flower.replies import Checks, GoodReply, MissingFact, told

NO_REPLY, NOT_NEEDED = "no reply", "not needed"


@dataclass
class Called:
    """The clients of one round and their replies, judged as they arrive."""

    now: Round
    everything: Clients
    """All that is known of clients; the selector saw what it had asked for."""
    online: Ids
    """Who was there, idle and allowed; the guard may have admitted fewer."""
    selection: Selection
    asked_for: int
    """How many the selector was told to name."""
    needed: int
    """Good replies after which the round is over."""
    nodes: Mapping[int, int]
    """Node to client."""
    start: ArrayRecord
    vector: np.ndarray
    """The same as one vector."""
    wanted: list[str]
    """Facts that replies must carry."""
    models: ModelCheck
    keep_models: bool
    """Somebody will look at local models beside the strategy."""
    probed: Mapping[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    outgoing: list[Message] = field(default_factory=list)
    exchange: Exchange | None = None
    good: dict[int, GoodReply] = field(default_factory=dict)
    messages: dict[int, Message] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)
    blamed: dict[int, str] = field(default_factory=dict)
    missing: dict[int, str] = field(default_factory=dict)
    """Client to the fact that its reply lacked."""

    def __post_init__(self) -> None:
        self._length = float(np.linalg.norm(self.vector.astype(np.float64)))

    def hear(self, checks: Checks, node: int, message: Message, seconds: float) -> None:
        """Judges one reply; a client is heard once."""
        client = self.nodes[node]
        if client in self.good or client in self.failed:
            return
        try:
            self.good[client] = self._judged(checks, client, message, seconds)
            self.messages[client] = message
        except BadReply as bad:
            self.failed[client] = bad.reason
            if bad.blame:
                self.blamed[client] = bad.reason
            if isinstance(bad, MissingFact):
                self.missing[client] = bad.name

    def _judged(self, checks: Checks, client: int, message: Message, seconds: float) -> GoodReply:
        content = checks.content(message)
        model = self.models.vector(content, self.start, self._length, self.keep_models)
        metrics = checks.metrics(content)
        clients = self.now.clients
        claimed = float(clients.of("num_examples", np.array([client]))[0]) if "num_examples" in clients else None
        weight = checks.examples(metrics, claimed)
        facts = told(content, self.wanted, metrics, len(self.vector))
        message.content = wire.without_note(content)
        return GoodReply(client, model, weight, facts, seconds)

    @property
    def complete(self) -> bool:
        return len(self.good) >= self.needed

    def close(self) -> list[GoodReply]:
        """The replies that count, most wanted first: the first so many that came, and of those that came together the
        most wanted. Everybody else has failed for a reason."""
        if self.missing and not self.good and len(self.missing) == len(self.failed):
            name = next(iter(self.missing.values()))
            raise MissingSignal(f"no reply carries '{name}'. Return it in the MetricRecord of the training reply")
        odd = bring_into_form(self.messages, self.start)
        for client, reason in odd.items():
            del self.good[client]
            self.failed[client] = self.blamed[client] = reason
        wanted = {int(client): place for place, client in enumerate(self.selection.ids)}
        arrived = sorted(self.good.values(), key=lambda reply: (reply.seconds, wanted[reply.client]))
        used = arrived[: self.needed]
        late = NOT_NEEDED if len(used) == self.needed else NO_REPLY
        for client in wanted:
            if client not in self.good and client not in self.failed:
                self.failed[client] = late
        self.failed |= {reply.client: NOT_NEEDED for reply in arrived[self.needed :]}
        return sorted(used, key=lambda reply: wanted[reply.client])


def as_replies(used: list[GoodReply], start: np.ndarray) -> Replies:
    """The good replies as filters, averages and selectors know them."""
    names = used[0].signals if used else {}
    models = [reply.model for reply in used if reply.model is not None]
    steps = [float(reply.signals["local_steps"]) if "local_steps" in reply.signals else 1.0 for reply in used]
    return Replies(
        ids=np.array([reply.client for reply in used], np.int64),
        start=start,
        models=np.stack(models) if models else np.empty((0, len(start)), np.float32),
        num_examples=np.array([reply.num_examples for reply in used]),
        local_steps=np.array(steps),
        signals={name: np.stack([reply.signals[name] for reply in used]) for name in names},
    )
