"""Homomorphic encryption as the protocols use it: polynomials in, ciphertexts as bytes, sums and products between.

BFV of TenSEAL's SEAL, 128-bit security, which the library itself enforces. Nothing here decides who may hold which key:
`PublicSide` cannot decrypt, `callup.privacy.secret.SecretSide` can.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from callup.core.errors import InputError
from callup.privacy.extras import library
from callup.privacy.field import MODULUS, PRIMES, uniform
from callup.privacy.packing import DEGREE

_FLOODS = 4
REVERSE = 2 * DEGREE - 1
"""The automorphism X -> 1/X."""


def seal_library() -> Any:
    return library("he", "tenseal.sealapi")


def context(prime: int = MODULUS) -> Any:
    seal = seal_library()
    terms = seal.EncryptionParameters(seal.SCHEME_TYPE.BFV)
    terms.set_poly_modulus_degree(DEGREE)
    terms.set_coeff_modulus(seal.CoeffModulus.BFVDefault(DEGREE, seal.SEC_LEVEL_TYPE.TC128))
    known = seal.PlainModulus.Batching(DEGREE, [found.bit_length() for found in PRIMES])
    fitting = [modulus for modulus in known if modulus.value() == prime]
    if not fitting:
        raise InputError(f"this TenSEAL makes plain moduli other than {prime}; install another version")
    terms.set_plain_modulus(fitting[0])
    return seal.SEALContext(terms, True, seal.SEC_LEVEL_TYPE.TC128)


def dump(thing: Any) -> bytes:
    """A public key or ciphertext as bytes. The library only writes files; no secret key ever passes here."""
    with tempfile.TemporaryDirectory(prefix="callup-") as folder:
        path = Path(folder) / "message"
        thing.save(str(path))
        return path.read_bytes()


class PublicSide:
    """What can be done without the secret key: encrypt, add, multiply, mask, flood."""

    def __init__(self, public_key: bytes, relinearise: bytes = b"", reverse: bytes = b"", prime: int = MODULUS) -> None:
        self._seal = seal_library()
        self._prime = prime
        self._context = context(prime)
        self._evaluator = self._seal.Evaluator(self._context)
        self._encoder = self._seal.BatchEncoder(self._context)
        self._encryptor = self._seal.Encryptor(self._context, self._load("PublicKey", public_key))
        self._relinearise = self._load("RelinKeys", relinearise) if relinearise else None
        self._reverse = self._load("GaloisKeys", reverse) if reverse else None

    def encrypt(self, coefficients: np.ndarray) -> bytes:
        """A fresh ciphertext of a polynomial."""
        out = self._seal.Ciphertext()
        self._encryptor.encrypt(self.polynomial(coefficients), out)
        return dump(out)

    def ciphertext(self, data: bytes) -> Any:
        return self._load("Ciphertext", data)

    def polynomial(self, coefficients: np.ndarray) -> Any:
        """A plaintext from its coefficients, which the library reads as text: `1Fx^3 + 2x^1`."""
        places = np.flatnonzero(coefficients)[::-1].tolist()
        values = coefficients[places].tolist()
        return self._seal.Plaintext(" + ".join(f"{v:X}x^{p}" for v, p in zip(values, places, strict=True)) or "0")

    def times_plain(self, cipher: Any, plain: Any) -> Any:
        """A product with a plaintext; with the plaintext 0 nothing, which SEAL would refuse to send."""
        if plain.is_zero():
            return None
        out = self._seal.Ciphertext()
        self._evaluator.multiply_plain(cipher, plain, out)
        return out

    def shifted(self, cipher: Any, places: int) -> Any:
        """Times X^places, which adds no noise; negative places wrap around with the sign turned."""
        out = self.times_plain(cipher, self._seal.Plaintext(f"1x^{places % DEGREE}"))
        if (places // DEGREE) % 2:
            self._evaluator.negate_inplace(out)
        return out

    def reversed(self, cipher: Any) -> Any:
        """a(1/X) from a(X)."""
        out = self._seal.Ciphertext()
        self._evaluator.apply_galois(cipher, REVERSE, self._reverse, out)
        return out

    def times(self, left: Any, right: Any) -> Any:
        out = self._seal.Ciphertext()
        self._evaluator.multiply(left, right, out)
        self._evaluator.relinearize_inplace(out, self._relinearise)
        return out

    def total(self, parts: list[Any]) -> Any:
        """The sum of ciphertexts, and of a fresh one of zero; None among them counts as zero."""
        out = self._seal.Ciphertext()
        self._encryptor.encrypt_zero(out)
        for part in parts:
            if part is not None:
                self._evaluator.add_inplace(out, part)
        return out

    def closed(self, parts: list[Any], targets: np.ndarray, added: np.ndarray) -> bytes:
        """The sum of ciphertexts, ready to be decrypted by somebody else.

        `added` goes on the targets and a uniform number on every other coefficient. The error in a ciphertext depends
        on what it was computed from, so an encryption of zero is added whose error is drowned in four random factors;
        then the modulus is switched down as far as it goes. This drowning is a heuristic: there is no proof for it,
        and SEAL offers no call that has one.
        """
        flood = self.total([])
        for _ in range(_FLOODS):
            self._evaluator.multiply_plain_inplace(flood, self._uniform_polynomial())
        mask = self._uniform_polynomial()
        at_targets = np.array([mask[place] for place in targets.ravel().tolist()], np.int64)
        correction = np.zeros(DEGREE, np.int64)
        correction[targets.ravel()] = (added.ravel() - at_targets) % self._prime
        out = self.total([flood, *parts])
        self._evaluator.add_plain_inplace(out, mask)
        self._evaluator.add_plain_inplace(out, self.polynomial(correction))
        while out.coeff_modulus_size() > 1:
            self._evaluator.mod_switch_to_next_inplace(out)
        return dump(out)

    def _uniform_polynomial(self) -> Any:
        """Uniform coefficients: the library's encoding is one to one, so uniform slots give them."""
        out = self._seal.Plaintext()
        self._encoder.encode(uniform(DEGREE, self._prime).tolist(), out)
        return out

    def _load(self, kind: str, data: bytes) -> Any:
        out = getattr(self._seal, kind)()
        with tempfile.TemporaryDirectory(prefix="callup-") as folder:
            path = Path(folder) / "message"
            path.write_bytes(data)
            try:
                out.load(self._context, str(path))  # checks that it belongs to these parameters
            except (RuntimeError, ValueError) as error:
                raise InputError(f"a message that should hold a {kind} cannot be read: {error}") from error
        return out

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} is never pickled")
