"""What the server holds in place of a selector: it passes the question on and gets ids and weights back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.errors import InputError
from callup.core.selector import Arrays, Selector
from callup.core.signals import Needs
from callup.core.spec import parse_spec
from callup.core.types import Feedback, Plan, Round, Selection
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
        chosen = self._ask("select", facts, "chosen")
        ids = np.array(chosen.numbers("ids"), np.int64)
        if "parts" not in chosen.facts:
            return Selection(ids)
        parts = np.array(chosen.numbers("parts"), np.float64)
        if len(parts) != len(ids) or not (parts > 0).all():
            raise InputError(f"the selector chose {len(ids)} clients and gave weights that do not fit: {parts}")
        of_models, whole = bool(chosen.number("of_models")), bool(chosen.number("whole"))
        return Selection(ids, weights=parts / parts.sum(), of_models=of_models, whole=whole)

    def update(self, feedback: Feedback) -> None:
        facts = {"round": feedback.index, "ids": feedback.ids.tolist(), "failed": sorted(feedback.failed)}
        self._ask("update", facts, "updated")

    def load(self, state: Arrays) -> None:  # noqa: ARG002
        raise InputError(
            f"a run whose {self.card.name} runs at a party of its own cannot be continued: what it learned is there"
        )

    def _ask(self, kind: str, facts: dict[str, object], answer: str) -> Message:
        return Message.decode(self.exchange(Message(kind, facts).encode()), answer)
