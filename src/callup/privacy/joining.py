"""A client's whole part: asked with the terms, it releases its counts once, splits them, and sends two messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from callup.core.errors import UsageError
from callup.privacy.ledger import Ledger
from callup.privacy.modes import check_epsilon
from callup.privacy.sharing import split
from callup.privacy.terms import Terms


@dataclass(frozen=True, repr=False)
class ClientParty:
    """What one client decides for itself; none of it can be changed by a message.

    epsilon, ledger, version: with them the counts are noised once for this data version, and the same release is
    shared whenever it is asked for again, also with a new key. Without them the true counts are shared. pinned: the
    selector's sealing key, known from elsewhere.
    """

    client: int
    epsilon: float | None = None
    ledger: Ledger | None = None
    version: str = ""
    pinned: str | None = None

    def __post_init__(self) -> None:
        if self.epsilon is not None:
            check_epsilon(self.epsilon)
        if (self.epsilon is None) != (self.ledger is None):
            raise UsageError(f"client {self.client}: noise needs both epsilon and a ledger that remembers it")

    def join(self, terms: bytes, counts: Sequence[float] | np.ndarray) -> tuple[bytes, bytes]:
        """The message for the server and the one for the selector."""
        return split(self.told(counts), self.client, Terms.decode(terms), self.pinned)

    def told(self, counts: Sequence[float] | np.ndarray) -> Sequence[float] | np.ndarray:
        """The counts as they are told to anybody: noised once for a data version, or as they are."""
        if self.ledger is None or self.epsilon is None:
            return counts
        if self.ledger.holds(self.version):
            return self.ledger.released(self.version)
        return self.ledger.release(self.version, counts, self.epsilon)

    def __repr__(self) -> str:
        return f"ClientParty({self.client})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a ClientParty is never pickled")
