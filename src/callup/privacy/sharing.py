"""A client's part in `shared`: its counts become two rows that are each uniform, one for each of two parties.

a = x + y modulo a prime, with y uniform. Whoever holds x alone, or y alone, holds random numbers. No encryption library
is needed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NoReturn

import numpy as np

from callup.core.errors import InputError
from callup.privacy.counts import whole_counts
from callup.privacy.field import packed, residues, uniform
from callup.privacy.sealing import SealedBox, seal
from callup.privacy.terms import Terms
from callup.privacy.wire import Message


def split(
    counts: Sequence[float] | np.ndarray, client: int, terms: Terms, pinned: str | None = None
) -> tuple[bytes, bytes]:
    """The message for the server and the one for the selector, sealed where the terms name a sealing key.

    pinned: the selector's sealing key as the client knows it from elsewhere. Terms that came through the server might
    name the server's own key; with a pinned key they are refused.
    """
    if pinned is not None and terms.seal != pinned:
        raise InputError(f"client {client}: the terms name another sealing key than the selector's; nothing was sent")
    whole = whole_counts(counts, client, terms.cap)
    if len(whole) != terms.classes:
        raise InputError(f"client {client} has counts of {len(whole)} classes, the federation has {terms.classes}")
    primes = np.array(terms.primes)[:, None]
    for_selector = np.stack([uniform(terms.classes, prime) for prime in terms.primes])
    for_server = (whole - for_selector) % primes
    facts = {"client": client, "key": terms.key}
    hidden = packed(for_selector.ravel())
    if terms.seal:
        hidden = seal(hidden, terms.seal, share_context(client, terms))
    server = Message("share", facts, (packed(for_server.ravel()),)).encode()
    return server, Message("share", facts, (hidden,)).encode()


def share_context(client: int, terms: Terms) -> str:
    """What a sealed share is bound to: nobody can pass it off as another client's or use it with another key."""
    return f"{terms.key} {client}"


class Shares:
    """The shares one party has received, by client."""

    def __init__(self, terms: Terms, box: SealedBox | None = None) -> None:
        self._terms, self._box = terms, box
        self._rows: dict[int, np.ndarray] = {}

    def take(self, data: bytes) -> int:
        """Adds one client's share; a stale key, a stranger, a second share or a wrong length is refused."""
        message = Message.decode(data, "share")
        client = message.number("client")
        self._terms.check_key(message.word("key"), f"client {client}")
        self._terms.check_member(client)
        if client in self._rows:
            raise InputError(f"client {client} sent a second share; the first one counts")
        data = b"".join(message.blobs)
        opened = data if self._box is None else self._box.open(data, share_context(client, self._terms))
        self._rows[client] = residues(opened, self._terms.classes, self._terms.primes)
        return client

    @property
    def ids(self) -> list[int]:
        """Who has sent a share, sorted."""
        return sorted(self._rows)

    def rows(self, ids: Iterable[int]) -> np.ndarray:
        """The shares of these clients, in their order, (primes, clients, classes); of enough clients or none."""
        wanted = list(ids)
        self._terms.check_cohort(wanted)
        missing = [client for client in wanted if client not in self._rows]
        if missing:
            raise InputError(f"there is no share of client {missing[0]}")
        return np.stack([self._rows[client] for client in wanted], axis=1)

    def total(self, ids: Iterable[int]) -> np.ndarray:
        """The sum of these clients' shares, (primes, classes): a share of the sum of their counts."""
        return np.asarray(self.rows(ids).sum(axis=1) % np.array(self._terms.primes)[:, None])

    def __reduce__(self) -> NoReturn:
        raise TypeError("shares are never pickled")
