"""The one who can decrypt: keys are made here, and the secret one is never written anywhere."""

from __future__ import annotations

import numpy as np

from callup.core.errors import InputError
from callup.privacy.bfv import REVERSE, PublicSide, context, dump, seal_library
from callup.privacy.field import MODULUS


class SecretSide(PublicSide):
    """What a `PublicSide` does, and decryption."""

    def __init__(self, multiplies: bool = False, prime: int = MODULUS) -> None:
        seal, terms = seal_library(), context(prime)
        maker = seal.KeyGenerator(terms)
        public = seal.PublicKey()
        maker.create_public_key(public)
        self.public_key = dump(public)
        self.relinearise_key = self.reverse_key = b""
        if multiplies:
            relinearise, reverse = seal.RelinKeys(), seal.GaloisKeys()
            maker.create_relin_keys(relinearise)
            maker.create_galois_keys([REVERSE], reverse)
            self.relinearise_key, self.reverse_key = dump(relinearise), dump(reverse)
        super().__init__(self.public_key, prime=prime)
        self._decryptor = seal.Decryptor(terms, maker.secret_key())

    def decrypt(self, data: bytes, places: np.ndarray) -> np.ndarray:
        """These coefficients of a ciphertext's polynomial; a ciphertext beyond reading is refused, never guessed."""
        cipher = self.ciphertext(data)
        if self._decryptor.invariant_noise_budget(cipher) <= 0:
            raise InputError("a ciphertext cannot be decrypted with this key: it was made for another, or damaged")
        plain = self._seal.Plaintext()
        self._decryptor.decrypt(cipher, plain)
        held = plain.coeff_count()
        return np.array([plain[place] if place < held else 0 for place in places.ravel().tolist()], np.int64).reshape(
            places.shape
        )
