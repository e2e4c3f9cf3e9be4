"""What the server holds in place of a selector: it passes the question on and gets ids back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.errors import ContractError
from callup.core.selector import Selector
from callup.core.signals import Needs
from callup.core.spec import parse_spec
from callup.core.types import Feedback, Plan, Round, Selection
from callup.privacy.multiplier import Multiplier
from callup.privacy.wire import Message

Exchange = Callable[[bytes], bytes]
"""Carries a message to the selector's party and brings the answer."""


@dataclass(repr=False)
class RemoteSelector(Selector):
    """Chooses what the selector's party chooses. Asks for sizes alone: label statistics never come to the server.

    method: its spec, e.g. "fed-cbs". exchange: the way to the other party. The method's state is there, too.
    """

    method: str
    exchange: Exchange

    def __post_init__(self) -> None:
        self.card = SELECTORS.card(parse_spec(self.method)[0])  # type: ignore[misc]

    @property
    def spec(self) -> str:
        return self.method

    def __repr__(self) -> str:
        return f"RemoteSelector({self.method})"

    @property
    def needs(self) -> Needs:
        return Needs.of(("num_examples",))

    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:  # noqa: ARG002
        facts = {
            "ids": clients.ids.tolist(),
            "sizes": clients.all("num_examples").astype(np.int64).tolist(),
            "k": plan.k,
            "rounds": plan.rounds or 0,
        }
        self._ask("start", facts, "started")

    def select(self, now: Round, k: int) -> Selection:
        facts = {"round": now.index, "available": now.available.tolist(), "k": k}
        return Selection(np.array(self._ask("select", facts, "chosen").numbers("ids"), np.int64))

    def update(self, feedback: Feedback) -> None:
        facts = {"round": feedback.index, "ids": feedback.ids.tolist(), "failed": sorted(feedback.failed)}
        self._ask("update", facts, "updated")

    def _ask(self, kind: str, facts: dict[str, object], answer: str) -> Message:
        return Message.decode(self.exchange(Message(kind, facts).encode()), answer)


class ServerParty:
    """The server: takes shares, multiplies, and asks for cohorts. It never holds a key that decrypts, nor a count."""

    def __init__(self, spec: str, exchange: Exchange) -> None:
        self._exchange = exchange
        self._multiplier = Multiplier(exchange(Message("hello").encode()))
        self.selector = RemoteSelector(spec, exchange)

    @property
    def client_terms(self) -> bytes:
        """What clients need to know."""
        return self._multiplier.terms.for_client().encode()

    def take(self, share: bytes) -> int:
        """One client's share."""
        return self._multiplier.shares.take(share)

    def pass_on(self, sealed: bytes) -> None:
        """One client's sealed share for the selector, which the server cannot read."""
        Message.decode(self._exchange(sealed), "taken")

    def compute(self) -> list[int]:
        """The inner products, at the selector; returns whose they are."""
        tiles = self._multiplier.tiles(self._exchange(self._multiplier.present()))
        ready = Message.decode(self._exchange(tiles), "ready").numbers("ids")
        if not set(ready) <= set(self._multiplier.shares.ids):
            raise ContractError("the selector speaks of clients whose shares are not here")
        return ready
