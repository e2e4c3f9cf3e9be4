"""The server's part in `shared`: it multiplies numbers it cannot read and learns nothing but who took part."""

from __future__ import annotations

from typing import NoReturn

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
        if len(message.blobs) != 2:
            raise InputError("the selector's invitation does not hold the terms and a public key")
        self.terms = Terms.decode(message.blobs[0])
        self.shares = Shares(self.terms)
        self._keys = PublicSide(message.blobs[1])
        self._packing = Packing(self.terms.classes)

    def present(self) -> bytes:
        """For the selector: whose shares are here."""
        return Message("present", {"key": self.terms.key, "ids": self.shares.ids}).encode()

    def tiles(self, encrypted: bytes) -> bytes:
        """For the selector: X X^T + X Y^T + Y X^T on the target coefficients, all else masked, errors drowned."""
        message = Message.decode(encrypted, "encrypted shares")
        self.terms.check_key(message.word("key"), "the selector")
        ids = message.numbers("ids")
        own = self.shares.rows(ids)
        groups = self._packing.groups(len(ids))
        if len(message.blobs) != 2 * len(groups):
            raise InputError(
                f"the selector sent {len(message.blobs)} ciphertexts where {2 * len(groups)} were expected"
            )
        ciphers = [self._keys.ciphertext(blob) for blob in message.blobs]
        forward = [self._keys.polynomial(self._packing.forward(own[group])) for group in groups]
        backward = [self._keys.polynomial(self._packing.backward(own[group])) for group in groups]
        blobs = []
        for i, j in tiles(groups):
            left, right = groups[i], groups[j]
            parts = [
                self._keys.times_plain(ciphers[2 * j + 1], forward[i]),
                self._keys.times_plain(ciphers[2 * i], backward[j]),
            ]
            places = self._packing.targets(left.stop - left.start, right.stop - right.start)
            blobs.append(self._keys.closed(parts, places, inner_products(own[left], own[right])))
        return Message("tiles", {"key": self.terms.key, "ids": ids}, tuple(blobs)).encode()

    def sum_of_shares(self) -> bytes:
        """For the selector: a share of everyone's counts together."""
        ids = self.shares.ids
        return Message("sum of shares", {"key": self.terms.key, "ids": ids}, (packed(self.shares.total(ids)),)).encode()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Multiplier is never pickled")
