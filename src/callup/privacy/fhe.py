"""The paper's own topology, for comparison: clients encrypt, the server multiplies, the selector decrypts.

Fed-CBS, Section 3.2 and Appendix C.2. Against `shared` it needs an encryption library and 0.4 MB from every client, and
a client that lies can spoil the entries of its neighbours in a group, not only its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from callup.core.errors import InputError
from callup.core.index import Ids
from callup.privacy.bfv import PublicSide
from callup.privacy.counts import whole_counts
from callup.privacy.field import CAP
from callup.privacy.keyholder import sound
from callup.privacy.packing import Packing, tiles
from callup.privacy.secret import SecretSide
from callup.privacy.terms import Terms
from callup.privacy.wire import Message


class PaperSelector:
    """Makes the keys and decrypts the inner products."""

    def __init__(self, classes: int, roster: Iterable[int], minimum: int = 20) -> None:
        self.terms = Terms.fresh(classes, roster, minimum)
        self._keys = SecretSide(multiplies=True)
        self._packing = Packing(classes)

    def invitation(self) -> bytes:
        """For the server: the terms, and keys to encrypt and to multiply with."""
        keys = self._keys
        blobs = (self.terms.encode(), keys.public_key, keys.relinearise_key, keys.reverse_key)
        return Message("invitation", {}, blobs).encode()

    def client_key(self) -> bytes:
        """For the clients: the terms without the roster, and the public key."""
        return Message("client key", {}, (self.terms.for_client().encode(), self._keys.public_key)).encode()

    def gram(self, data: bytes) -> tuple[Ids, np.ndarray]:
        """From the server's tiles: ids, and the inner products of their label counts."""
        message = Message.decode(data, "tiles")
        self.terms.check_key(message.word("key"), "the server")
        ids = message.numbers("ids")
        self.terms.check_cohort(ids)
        groups = self._packing.groups(len(ids))
        pairs = tiles(groups)
        if len(pairs) != len(message.blobs):
            raise InputError(f"the server sent {len(message.blobs)} tiles where {len(pairs)} were expected")
        found = np.zeros((len(ids), len(ids)), np.int64)
        for (i, j), blob in zip(pairs, message.blobs, strict=True):
            left, right = groups[i], groups[j]
            places = self._packing.targets(left.stop - left.start, right.stop - right.start)
            found[left, right] = self._keys.decrypt(blob, places)
            found[right, left] = found[left, right].T
        return np.array(ids, np.int64), sound(found, ids)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a PaperSelector is never pickled")


class PaperClient:
    """Encrypts its counts, for the server to pass on."""

    def __init__(self, client: int, client_key: bytes) -> None:
        message = Message.decode(client_key, "client key")
        self._client = client
        self._terms = Terms.decode(message.blobs[0])
        self._keys = PublicSide(message.blobs[1])

    def encrypt(self, counts: Sequence[float] | np.ndarray) -> bytes:
        whole = whole_counts(counts, self._client, CAP)
        if len(whole) != self._terms.classes:
            raise InputError(
                f"client {self._client} has counts of {len(whole)} classes, the federation has {self._terms.classes}"
            )
        facts = {"client": self._client, "key": self._terms.key}
        return Message("encrypted counts", facts, (self._keys.encrypt(whole),)).encode()


class PaperServer:
    """Shifts ciphertexts into groups, multiplies groups, and sends the products to the selector."""

    def __init__(self, invitation: bytes) -> None:
        message = Message.decode(invitation, "invitation")
        self.terms = Terms.decode(message.blobs[0])
        if len(message.blobs) != 4:
            raise InputError("the selector's invitation does not hold the terms and three keys")
        self._keys = PublicSide(*message.blobs[1:4])
        self._packing = Packing(self.terms.classes)
        self._ciphers: dict[int, Any] = {}

    def take(self, data: bytes) -> int:
        """Adds one client's ciphertext; a stale key, a stranger or a second one is refused."""
        message = Message.decode(data, "encrypted counts")
        client = message.number("client")
        self.terms.check_key(message.word("key"), f"client {client}")
        self.terms.check_member(client)
        if client in self._ciphers:
            raise InputError(f"client {client} sent a second ciphertext; the first one counts")
        self._ciphers[client] = self._keys.ciphertext(message.blobs[0])
        return client

    def tiles(self) -> bytes:
        """For the selector: the inner products on the target coefficients, all else masked, errors drowned."""
        ids = sorted(self._ciphers)
        self.terms.check_cohort(ids)
        groups = self._packing.groups(len(ids))
        width, span = self._packing.classes, self._packing.group * self._packing.classes
        held = [[self._ciphers[client] for client in ids[group]] for group in groups]
        forward = [self._shifted(members, width) for members in held]
        # X^(j g B) a(1/X) is X^(-j g B) a(X) with 1/X in place of X: one automorphism for a whole group.
        backward = [self._keys.reversed(self._shifted(members, -span)) for members in held]
        blobs = []
        for i, j in tiles(groups):
            places = self._packing.targets(len(held[i]), len(held[j]))
            product = self._keys.times(forward[i], backward[j])
            blobs.append(self._keys.closed([product], places, np.zeros(places.shape, np.int64)))
        return Message("tiles", {"key": self.terms.key, "ids": ids}, tuple(blobs)).encode()

    def _shifted(self, members: list[Any], step: int) -> Any:
        return self._keys.total([self._keys.shifted(cipher, at * step) for at, cipher in enumerate(members)])

    def __reduce__(self) -> NoReturn:
        raise TypeError("a PaperServer is never pickled")
