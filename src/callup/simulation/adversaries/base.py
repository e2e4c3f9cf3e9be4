"""What a lying client may do: claim what it likes in its profile, answer probes and reply as it likes, and be slow.

It cannot change what the server measures by itself, nor speak for others. Liars may know each other and see what honest
clients of the same round report: an attack that works with less is covered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from callup.core import draws
from callup.core.clients import Clients
from callup.core.errors import UsageError
from callup.core.index import Ids
from callup.core.registry import Registry
from callup.core.selector import Method
from callup.core.types import Plan, Replies

SCORES = ("loss", "batch_loss", "loss_rms", "train_loss")
"""Signals by which a client makes itself wanted when they are high."""


@dataclass(repr=False)
class Adversary(Method):
    """A share of the clients colludes; the others are honest. Who lies is drawn once a run."""

    share: float = 0.2

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise UsageError(f"{self.card.name}: share must lie between 0 and 1, got {self.share:g}")

    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        """`clients` are all that is true of them."""
        super().start(clients, plan, rng)
        count = max(1, round(self.share * len(clients)))
        self.liars_ = np.sort(draws.uniform(clients.ids, count, rng))
        self.key_ = int(rng.integers(2**63))

    def lies(self, ids: Ids) -> np.ndarray:
        """A mask: who of these is a liar."""
        return np.isin(ids, self.liars_)

    def claim(self, clients: Clients) -> Clients:
        """The profile as it is claimed."""
        return clients

    def owners(self, clients: Clients) -> np.ndarray | None:  # noqa: ARG002
        """Who runs each client, as the server knows it; None when it does not."""
        return None

    def answer(self, index: int, name: str, ids: Ids, values: np.ndarray) -> np.ndarray:  # noqa: ARG002
        """Answers to a probe; NaN is silence."""
        return values

    def reply(self, index: int, replies: Replies) -> Replies:  # noqa: ARG002
        """Replies as they are sent; the server works out updates from the models itself."""
        return replies

    def seconds(self, index: int, ids: Ids, seconds: np.ndarray) -> np.ndarray:  # noqa: ARG002
        """How long each takes to reply."""
        return seconds

    def learn(self, index: int, replies: Replies) -> None:
        """What liars saw of the round: the model they were sent."""


ADVERSARIES: Registry[Adversary] = Registry("adversary", "callup.simulation.adversaries")


def claiming(clients: Clients, columns: Mapping[str, Any]) -> Clients:
    """The same clients with some columns replaced; sizes follow label counts where both are known."""
    new = {**clients.columns, **columns}
    if "label_counts" in columns and "num_examples" in new:
        new["num_examples"] = np.asarray(columns["label_counts"]).sum(axis=1)
    return Clients(clients.ids, **new).only(*new)


def saying(replies: Replies, **signals: np.ndarray) -> Replies:
    """The same replies with some signals replaced; signals that nobody asked for are passed over."""
    known = {name: value for name, value in signals.items() if name in replies.signals}
    return replace(replies, signals={**replies.signals, **known})
