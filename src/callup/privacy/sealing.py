"""A share for the selector that may travel through the server: sealed to the selector's key, unreadable on the way.

X25519 with a key made for this one message, HKDF and ChaCha20-Poly1305, all from the `cryptography` library.
"""

from __future__ import annotations

from typing import Any, NoReturn

from callup.core.errors import InputError
from callup.privacy.extras import library

_KEY = 32
_PRIMITIVES = "cryptography.hazmat.primitives"


class SealedBox:
    """Holds the private key that opens what was sealed to `address`."""

    def __init__(self) -> None:
        self._private = _curve().X25519PrivateKey.generate()
        self.address: str = self._private.public_key().public_bytes_raw().hex()

    def open(self, sealed: bytes, context: str) -> bytes:
        """The message; one that was sealed to another key or context, or changed on the way, is refused."""
        try:
            sender = _curve().X25519PublicKey.from_public_bytes(sealed[:_KEY])
            key = _derived(self._private.exchange(sender), sealed[:_KEY] + bytes.fromhex(self.address))
            opened: bytes = _cipher(key).decrypt(bytes(12), sealed[_KEY:], context.encode())
        except Exception as error:  # the library's own kinds for damage differ; none of them says more
            raise InputError(
                "a sealed message cannot be opened: made for another key, or changed on its way"
            ) from error
        return opened

    def __reduce__(self) -> NoReturn:
        raise TypeError("a SealedBox is never pickled")


def seal(data: bytes, address: str, context: str) -> bytes:
    """Only the holder of `address` can open it, and only in this context."""
    private = _curve().X25519PrivateKey.generate()
    sender: bytes = private.public_key().public_bytes_raw()
    try:
        raw = bytes.fromhex(address)
        shared = private.exchange(_curve().X25519PublicKey.from_public_bytes(raw))
    except ValueError as error:
        raise InputError("the selector's sealing key in the terms is none") from error
    # The key is used once, so a fixed nonce is used once too.
    sealed: bytes = _cipher(_derived(shared, sender + raw)).encrypt(bytes(12), data, context.encode())
    return sender + sealed


def _derived(shared: bytes, salt: bytes) -> bytes:
    hashes, hkdf = library("seal", f"{_PRIMITIVES}.hashes"), library("seal", f"{_PRIMITIVES}.kdf.hkdf")
    key: bytes = hkdf.HKDF(hashes.SHA256(), 32, salt, b"callup share").derive(shared)
    return key


def _curve() -> Any:
    return library("seal", f"{_PRIMITIVES}.asymmetric.x25519")


def _cipher(key: bytes) -> Any:
    return library("seal", f"{_PRIMITIVES}.ciphers.aead").ChaCha20Poly1305(key)
