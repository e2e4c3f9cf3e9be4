"""What one frame of the log holds: a few facts and named arrays, packed small."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any

from callup.core.errors import InputError
from callup.core.selector import Arrays
from callup.journal.tensors import pack, unpack
from callup.journal.usual import USUAL

_PLAIN, _PACKED = b"\0", b"\1"
_MOST = 1 << 26
"""Bytes that are packed at most; more are stored as they are, so a small file can never unpack into a large one."""


@dataclass(frozen=True)
class Entry:
    """One round, or the head of the log, which is entry 0."""

    number: int
    facts: dict[str, Any]
    """Plain values, as JSON holds them."""
    arrays: Arrays = field(default_factory=dict)

    def content(self) -> bytes:
        """As bytes; the number is among them, so an entry in the wrong frame shows."""
        body = pack(self.arrays, {"number": self.number, **self.facts})
        if len(body) > _MOST:
            return _PLAIN + body
        packer = zlib.compressobj(6, zdict=USUAL)
        return _PACKED + packer.compress(body) + packer.flush()


def read_entry(number: int, content: bytes) -> Entry:
    """The entry in a frame of this number."""
    where = f"entry {number} of the journal"
    body = content[1:]
    if content[:1] == _PACKED:
        body = _unpacked(body, where)
    elif content[:1] != _PLAIN:
        raise InputError(f"{where} is damaged: it is packed in an unknown way")
    arrays, facts = unpack(body, where)
    if facts.pop("number", None) != number:
        raise InputError(f"{where} is damaged: it bears another number")
    return Entry(number, facts, arrays)


def _unpacked(body: bytes, where: str) -> bytes:
    unpacker = zlib.decompressobj(zdict=USUAL)
    try:
        content = unpacker.decompress(body, _MOST)
    except zlib.error as error:
        raise InputError(f"{where} is damaged: {error}") from error
    if not unpacker.eof or unpacker.unused_data:
        raise InputError(f"{where} is damaged: it does not end where it should")
    return content
