"""The selector's part in `shared`: it holds the secret key and its own shares, and alone learns the inner products."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NoReturn

import numpy as np

from callup.core.errors import InputError
from callup.core.index import Ids
from callup.privacy.field import combined, inner_products, residues
from callup.privacy.packing import Packing, tiles
from callup.privacy.sealing import SealedBox
from callup.privacy.secret import SecretSide
from callup.privacy.sharing import Shares
from callup.privacy.terms import Terms
from callup.privacy.wire import Message


class Keyholder:
    """Makes the keys, encrypts its shares for the server, decrypts what the server made of them.

        S = (X + Y)(X + Y)^T = X X^T + X Y^T + Y X^T + Y Y^T      (X at the server, Y here)

    The server sends the first three, of which it knows X and has Y encrypted; the fourth is added here.

    sealed: clients seal their shares for here, because they reach nobody but the server. wide: clients may hold more
    than 4,093 samples.
    """

    def __init__(
        self, classes: int, roster: Iterable[int], minimum: int = 20, sealed: bool = False, wide: bool = False
    ) -> None:
        box = SealedBox() if sealed else None
        self.terms = Terms.fresh(classes, roster, minimum, box.address if box else "", wide)
        self.shares = Shares(self.terms, box)
        self._keys = [SecretSide(prime=prime) for prime in self.terms.primes]
        self._packing = Packing(classes)

    def invitation(self) -> bytes:
        """For the server: the terms and a public key for each prime."""
        return Message("invitation", {}, (self.terms.encode(), *(keys.public_key for keys in self._keys))).encode()

    def encrypted_shares(self, present: bytes) -> bytes:
        """For the server, which said whose shares it has: the shares of those, packed and encrypted."""
        there = Message.decode(present, "present")
        self.terms.check_key(there.word("key"), "the server")
        ids = sorted(set(there.numbers("ids")) & set(self.shares.ids))
        blobs: list[bytes] = []
        for keys, rows, prime in zip(self._keys, self.shares.rows(ids), self.terms.primes, strict=True):
            for group in self._packing.groups(len(ids)):
                blobs.append(keys.encrypt(self._packing.forward(rows[group])))
                blobs.append(keys.encrypt(self._packing.backward(rows[group], prime)))
        return Message("encrypted shares", {"key": self.terms.key, "ids": ids}, tuple(blobs)).encode()

    def gram(self, data: bytes) -> tuple[Ids, np.ndarray]:
        """From the server's tiles: ids, and the inner products of their label counts."""
        message = Message.decode(data, "tiles")
        self.terms.check_key(message.word("key"), "the server")
        ids = message.numbers("ids")
        pairs, primes = len(tiles(self._packing.groups(len(ids)))), self.terms.primes
        if pairs * len(primes) != len(message.blobs):
            raise InputError(f"the server sent {len(message.blobs)} tiles where {pairs * len(primes)} were expected")
        layers = [
            self._modulo(keys, message.blobs[at * pairs : (at + 1) * pairs], own, primes[at])
            for at, (keys, own) in enumerate(zip(self._keys, self.shares.rows(ids), strict=True))
        ]
        return np.array(ids, np.int64), sound(combined(layers, primes), ids)

    def _modulo(self, keys: SecretSide, blobs: tuple[bytes, ...], own: np.ndarray, prime: int) -> np.ndarray:
        """The inner products modulo one prime: what the server sent, and Y Y^T."""
        groups = self._packing.groups(len(own))
        found = np.zeros((len(own), len(own)), np.int64)
        for (i, j), blob in zip(tiles(groups), blobs, strict=True):
            left, right = groups[i], groups[j]
            places = self._packing.targets(left.stop - left.start, right.stop - right.start)
            tile = (keys.decrypt(blob, places) + inner_products(own[left], own[right], prime)) % prime
            found[left, right] = tile
            found[right, left] = tile.T
        return found

    def global_counts(self, data: bytes) -> np.ndarray:
        """From the server's sum of shares: the samples of each class over all of the clients it names."""
        message = Message.decode(data, "sum of shares")
        self.terms.check_key(message.word("key"), "the server")
        ids, primes = message.numbers("ids"), self.terms.primes
        most = math.prod(primes) // self.terms.cap
        if len(ids) > most:
            raise InputError(f"counts of {len(ids):,} clients together are not exact; up to {most:,} are")
        theirs = residues(b"".join(message.blobs), self.terms.classes, primes)
        both = (theirs + self.shares.total(ids)) % np.array(primes)[:, None]
        return combined(list(both), primes)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Keyholder is never pickled")


def sound(gram: np.ndarray, ids: list[int]) -> np.ndarray:
    """Refuses inner products that no label counts have: S[n,m]^2 <= S[n,n] S[m,m]. A lying client shows here, often."""
    own = np.diagonal(gram).astype(np.float64)
    bad = gram.astype(np.float64) ** 2 > np.outer(own, own) * (1 + 1e-9)
    if bad.any():
        # The liar is in most of the pairs that do not fit.
        worst = ids[int(bad.sum(axis=1).argmax())]
        raise InputError(f"the inner products of client {worst} fit no label counts; leave this client out")
    return gram
