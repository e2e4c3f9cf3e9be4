"""The server's part in `shared`: it multiplies numbers it cannot read and learns nothing but who took part."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from callup.core.errors import InputError
from callup.privacy.bfv import PublicSide
from callup.privacy.field import inner_products, packed
from callup.privacy.packing import Packing, tiles
from callup.privacy.sharing import Shares
from callup.privacy.terms import Terms
from callup.privacy.wire import Message


class Multiplier:
    """Holds shares, which are uniform, and a public key."""

    def __init__(self, invitation: bytes) -> None:
        message = Message.decode(invitation, "invitation")
        if not message.blobs:
            raise InputError("the selector's invitation holds no terms")
        self.terms = Terms.decode(message.blobs[0])
        if len(message.blobs) != 1 + len(self.terms.primes):
            raise InputError("the selector's invitation does not hold a public key for each prime")
        self.shares = Shares(self.terms)
        primes = self.terms.primes
        self._keys = [PublicSide(key, prime=prime) for key, prime in zip(message.blobs[1:], primes, strict=True)]
        self._packing = Packing(self.terms.classes)

    def present(self) -> bytes:
        """For the selector: whose shares are here."""
        return Message("present", {"key": self.terms.key, "ids": self.shares.ids}).encode()

    def tiles(self, encrypted: bytes) -> bytes:
        """For the selector: X X^T + X Y^T + Y X^T on the target coefficients, all else masked, errors drowned."""
        message = Message.decode(encrypted, "encrypted shares")
        self.terms.check_key(message.word("key"), "the selector")
        ids = message.numbers("ids")
        rows, each = self.shares.rows(ids), 2 * len(self._packing.groups(len(ids)))
        if len(message.blobs) != each * len(rows):
            raise InputError(
                f"the selector sent {len(message.blobs)} ciphertexts where {each * len(rows)} were expected"
            )
        blobs: list[bytes] = []
        for at, own in enumerate(rows):
            blobs += self._modulo(at, own, message.blobs[at * each : (at + 1) * each])
        return Message("tiles", {"key": self.terms.key, "ids": ids}, tuple(blobs)).encode()

    def _modulo(self, at: int, own: np.ndarray, encrypted: tuple[bytes, ...]) -> list[bytes]:
        """The tiles modulo one of the primes."""
        keys, prime, groups = self._keys[at], self.terms.primes[at], self._packing.groups(len(own))
        ciphers = [keys.ciphertext(blob) for blob in encrypted]
        forward = [keys.polynomial(self._packing.forward(own[group])) for group in groups]
        backward = [keys.polynomial(self._packing.backward(own[group], prime)) for group in groups]
        made = []
        for i, j in tiles(groups):
            left, right = groups[i], groups[j]
            parts = [keys.times_plain(ciphers[2 * j + 1], forward[i]), keys.times_plain(ciphers[2 * i], backward[j])]
            places = self._packing.targets(left.stop - left.start, right.stop - right.start)
            made.append(keys.closed(parts, places, inner_products(own[left], own[right], prime)))
        return made

    def sum_of_shares(self) -> bytes:
        """For the selector: a share of everyone's counts together."""
        ids = self.shares.ids
        return Message(
            "sum of shares", {"key": self.terms.key, "ids": ids}, (packed(self.shares.total(ids).ravel()),)
        ).encode()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Multiplier is never pickled")
