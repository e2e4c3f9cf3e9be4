"""Messages between the parties as bytes: a head of facts in JSON, then blobs. Reading one never runs code.

A message fits into any carrier of bytes: a socket here, one entry of a record in a federated-learning framework.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from callup.core.errors import InputError

_MAGIC, _DIGEST = b"CUP1", 16
_HEAD = struct.Struct(f"<4sI{_DIGEST}s")


@dataclass(frozen=True)
class Message:
    """A kind, a few facts and blobs. What it carries is never shown by printing it."""

    kind: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    blobs: tuple[bytes, ...] = ()

    def __repr__(self) -> str:
        return f"Message({self.kind}, {len(self.blobs)} blobs)"

    def encode(self) -> bytes:
        head = {"kind": self.kind, "facts": dict(self.facts), "blobs": [len(blob) for blob in self.blobs]}
        text = json.dumps(head, allow_nan=False, separators=(",", ":")).encode()
        body = b"".join((text, *self.blobs))
        return _HEAD.pack(_MAGIC, len(text), _digest(body)) + body

    @staticmethod
    def kind_of(data: bytes) -> str:
        """What kind of message this is, by its own word."""
        kind = _head(data)["kind"]
        return kind if isinstance(kind, str) else ""

    @classmethod
    def decode(cls, data: bytes, kind: str) -> Message:
        """The message, which must be of this kind, whole and unchanged."""
        head = _head(data)
        found, facts, sizes = head["kind"], head["facts"], head["blobs"]
        if found != kind:
            raise InputError(f"expected a message '{kind}', got {found!r}")
        start = _HEAD.size + _HEAD.unpack_from(data)[1]
        whole = isinstance(facts, dict) and isinstance(sizes, list)
        if not whole or any(type(size) is not int or size < 0 for size in sizes) or start + sum(sizes) != len(data):
            raise InputError(f"the message '{kind}' is damaged or cut off")
        blobs = []
        for size in sizes:
            blobs.append(data[start : start + size])
            start += size
        return cls(kind, facts, tuple(blobs))

    def number(self, name: str) -> int:
        """A whole number among the facts."""
        value = self.facts.get(name)
        if type(value) is not int or not 0 <= value < 2**63:
            raise InputError(f"the message '{self.kind}' has no whole number '{name}'")
        return value

    def numbers(self, name: str) -> list[int]:
        """A list of whole numbers among the facts."""
        values = self.facts.get(name)
        if not isinstance(values, list) or any(type(v) is not int or not 0 <= v < 2**63 for v in values):
            raise InputError(f"the message '{self.kind}' has no list of whole numbers '{name}'")
        return values

    def word(self, name: str) -> str:
        value = self.facts.get(name)
        if not isinstance(value, str):
            raise InputError(f"the message '{self.kind}' has no text '{name}'")
        return value


def _head(data: bytes) -> Mapping[str, Any]:
    if len(data) < _HEAD.size:
        raise InputError("expected a message, got something shorter than any")
    magic, length, digest = _HEAD.unpack_from(data)
    if magic != _MAGIC or digest != _digest(data[_HEAD.size :]):
        raise InputError("a message is damaged, cut off, or none at all")
    try:
        head = json.loads(data[_HEAD.size : _HEAD.size + length])
        return {name: head[name] for name in ("kind", "facts", "blobs")}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError("a message has a head that cannot be read") from error


def _digest(body: bytes) -> bytes:
    """Against accident: one turned bit in a ciphertext would turn an inner product, and nobody would notice.

    It is no defence against intent, which is the business of the channel.
    """
    return hashlib.blake2b(body, digest_size=_DIGEST).digest()
