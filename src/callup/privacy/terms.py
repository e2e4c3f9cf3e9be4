"""What all parties agree on before anything is sent, and the checks that both sides make on it."""

from __future__ import annotations

import secrets
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

from callup.core.errors import InputError
from callup.core.index import as_ids
from callup.privacy.field import PRIMES, cap
from callup.privacy.packing import Packing
from callup.privacy.wire import Message

MOST_CLIENTS = 5000
"""About a quarter of an hour of work at the server."""


@dataclass(frozen=True)
class Terms:
    """Which clients, how many classes, which key. A new key means new terms, and shares made for the old are refused.

    minimum: with fewer clients than this nothing is computed. seal: the selector's sealing key, or nothing where
    clients reach the selector without passing through the server. wide: numbers are kept modulo two primes instead of
    one, at twice the cost: for clients with more than 4,093 samples.
    """

    key: str
    classes: int
    roster: tuple[int, ...]
    minimum: int
    seal: str = ""
    wide: bool = False

    @property
    def primes(self) -> tuple[int, ...]:
        return PRIMES if self.wide else PRIMES[:1]

    @property
    def cap(self) -> int:
        """The most samples that one client may hold."""
        return cap(self.primes)

    @classmethod
    def fresh(cls, classes: int, roster: Iterable[int], minimum: int, seal: str = "", wide: bool = False) -> Terms:
        Packing(classes)
        ids = tuple(sorted(set(as_ids(roster).tolist())))
        if len(ids) > MOST_CLIENTS:
            raise InputError(
                f"inner products are computed for up to {MOST_CLIENTS:,} clients, this federation has {len(ids):,}: "
                f"the work grows with the square; use the mode dp"
            )
        made = cls(secrets.token_hex(16), classes, ids, minimum, seal, wide)
        made.check_cohort(ids)
        return made

    def check_key(self, key: str, who: str) -> None:
        if key != self.key:
            raise InputError(f"{who} used a key that is not in use (any more); send it the present terms and ask again")

    def check_member(self, client: int) -> None:
        place = bisect_left(self.roster, client)
        if place == len(self.roster) or self.roster[place] != client:
            raise InputError(f"client {client} is not on the roster of this federation; nothing it sends is used")

    def check_cohort(self, ids: Iterable[int]) -> None:
        here = len(set(ids))
        if here < self.minimum:
            raise InputError(
                f"statistics of {here} clients together are not computed: the minimum is {self.minimum}; "
                f"wait for more clients or set minimum"
            )

    def encode(self) -> bytes:
        return Message("terms", {**vars(self), "roster": list(self.roster)}).encode()

    @classmethod
    def decode(cls, data: bytes) -> Terms:
        message = Message.decode(data, "terms")
        roster = tuple(sorted(message.numbers("roster")))
        classes, minimum = message.number("classes"), message.number("minimum")
        return cls(
            message.word("key"), classes, roster, minimum, message.word("seal"), message.facts.get("wide") is True
        )

    def for_client(self) -> Terms:
        """Without the roster, which clients need not know."""
        return Terms(self.key, self.classes, (), 0, self.seal, self.wide)
