"""The selector as a party of its own: it learns the inner products, runs the selection, and gives away no more than
the ids and how much each of them counts in the average."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.errors import InputError, MissingSignal
from callup.core.randomness import stream
from callup.core.selector import Selector
from callup.core.types import Feedback, Plan, Round
from callup.core.verify import ask, check_size
from callup.privacy.keyholder import Keyholder
from callup.privacy.wire import Message

_KNOWN = ("label_gram", "num_examples", "global_counts")


class SelectorParty:
    """Answers messages, each with one message. What it decrypts never leaves it.

    spec, seed: the method, and its randomness; with the same seed it picks as the method does in the clear. The other
    settings are those of `Keyholder`.
    """

    def __init__(
        self,
        spec: str,
        classes: int,
        roster: Iterable[int],
        seed: int,
        minimum: int = 20,
        sealed: bool = False,
        wide: bool = False,
    ) -> None:
        self._selector: Selector = SELECTORS.make(spec)
        self._selector.needs.settle(
            lambda ask: ask.time == "profile" and ask.signal.name in _KNOWN,
            f"{self._selector.card.name}, run by a selector that sees inner products alone,",
        )
        self._keys = Keyholder(classes, roster, minimum, sealed, wide)
        self._seed = seed
        self._gram: tuple[np.ndarray, np.ndarray] | None = None
        self._clients: Clients | None = None

    @property
    def address(self) -> str:
        """The sealing key, for clients to pin."""
        return self._keys.terms.seal

    def answer(self, data: bytes) -> bytes:
        """One message in, one out."""
        kind = Message.kind_of(data)
        if kind == "hello":
            return self._keys.invitation()
        if kind == "share":
            return Message("taken", {"client": self._keys.shares.take(data)}).encode()
        if kind == "present":
            return self._keys.encrypted_shares(data)
        if kind == "tiles":
            self._gram = self._keys.gram(data)
            return Message("ready", {"ids": self._gram[0].tolist()}).encode()
        if kind == "start":
            return self._start(Message.decode(data, kind))
        if kind == "select":
            return self._select(Message.decode(data, kind))
        if kind == "update":
            return self._update(Message.decode(data, kind))
        raise InputError(f"the selector knows no message '{kind}'")

    def _start(self, message: Message) -> bytes:
        """Begins a run: sizes are the server's to know, inner products are here."""
        if self._gram is None:
            raise InputError("the selector has no inner products yet; send it the tiles first")
        ids, gram = self._gram
        if len(message.numbers("ids")) != len(message.numbers("sizes")):
            raise InputError("the server named other clients than it gave sizes of")
        given = dict(zip(message.numbers("ids"), message.numbers("sizes"), strict=True))
        missing = [client for client in ids.tolist() if client not in given]
        if missing:
            raise MissingSignal(f"the size of client {missing[0]} is not known")
        sizes = np.array([given[client] for client in ids.tolist()], np.float64)
        check_sizes(ids, gram, sizes, self._keys.terms.classes)
        self._clients = Clients(ids, label_gram=gram, num_examples=sizes)
        check_size(self._selector, len(ids))
        plan = Plan(message.number("k"), message.number("rounds") or None, self._keys.terms.classes)
        self._selector.start(self._clients, plan, stream(self._seed, "start", "selector"))
        return Message("started").encode()

    def _select(self, message: Message) -> bytes:
        index, available = message.number("round"), np.array(message.numbers("available"), np.int64)
        now = Round(index, available, self._started(), stream(self._seed, "select", index))
        chosen = ask(self._selector, now, message.number("k"))
        facts: dict[str, object] = {"ids": chosen.ids.tolist()}  # no scores, no notes: they hold QCID
        if chosen.weights is not None:
            meant = {"of_models": int(chosen.of_models), "whole": int(chosen.whole)}
            facts |= {"parts": coarse(chosen.weights), **meant}
        return Message("chosen", facts).encode()

    def _update(self, message: Message) -> bytes:
        failed = dict.fromkeys(message.numbers("failed"), "no reply")
        ids = np.array(message.numbers("ids"), np.int64)
        rng = stream(self._seed, "update", message.number("round"))
        self._selector.update(Feedback(message.number("round"), ids, {}, self._started(), failed, rng=rng))
        return Message("updated").encode()

    def _started(self) -> Clients:
        if self._clients is None:
            raise InputError("the selector was not started")
        return self._clients


def coarse(weights: np.ndarray) -> list[int]:
    """Weights in hundredths of an equal one, and no finer: exact ones would be equations for the inner products.

    >>> coarse(np.array([0.5, 0.25, 0.2499, 0.0001]))
    [200, 100, 100, 1]
    """
    equal = float(np.mean(weights))
    return [max(round(100 * weight / equal), 1) for weight in weights.tolist()]


def check_sizes(ids: np.ndarray, gram: np.ndarray, sizes: np.ndarray, classes: int) -> None:
    """Refuses a size that the client's own inner product contradicts: q^2 / B <= S[n,n] <= q^2, whatever the labels."""
    own, square = np.diagonal(gram).astype(np.float64), sizes**2
    wrong = (own > square * (1 + 1e-9)) | (own * classes < square * (1 - 1e-9))
    if wrong.any():
        raise InputError(
            f"client {ids[wrong.argmax()]}: its size and its shares do not belong together; leave this client out"
        )
