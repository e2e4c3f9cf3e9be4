"""The round log as bytes: frames one after the other, each with its length and a checksum, found again after damage.

A frame is a head of six little-endian words and the content. The head has a checksum of its own, so a damaged
content costs one frame, and a damaged head is stepped over to the next good one. Each head repeats the checksum of the
frame before it: frames that were taken out, doubled or moved show.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

_MAGIC = b"CUJ1"
_WORDS = struct.Struct("<4sIIIII")  # magic, number, length, checksum before, checksum, checksum of this head
_BLOCK = 1 << 16

HEAD = _WORDS.size
FIRST = 0
"""The checksum that the first frame says was before it."""


@dataclass(frozen=True)
class Frame:
    """One frame as found; `content` is None where it is damaged."""

    number: int
    content: bytes | None
    check: int
    end: int
    """Where in the file it ends."""


def frame(number: int, content: bytes, before: int) -> tuple[bytes, int]:
    """The bytes of a frame and its checksum, which the next one repeats."""
    check = zlib.crc32(content)
    words = struct.pack("<4sIIII", _MAGIC, number, len(content), before, check)
    return words + struct.pack("<I", zlib.crc32(words)) + content, check


def frames(handle: int, size: int) -> Iterator[Frame]:
    """Every frame that can be told, damaged ones included; what is cut off at the end is not one."""
    at, before = 0, FIRST
    known = True  # whether the frame before this one was found, so that the chain can be checked
    while (at_next := _next_head(handle, at, size)) is not None:
        known = known and at_next == at
        head = os.pread(handle, HEAD, at_next)
        _, number, length, said, check, _ = _WORDS.unpack(head)
        end = at_next + HEAD + length
        content = os.pread(handle, length, at_next + HEAD)
        sound = zlib.crc32(content) == check and (not known or said == before)
        yield Frame(number, content if sound else None, check, end)
        at, before, known = end, check, True


def _next_head(handle: int, at: int, size: int) -> int | None:
    """Where the next sound head stands whose content is all there, from `at` on: at once, unless there is damage."""
    while at + HEAD <= size and not _is_head(os.pread(handle, HEAD, at), size - at):
        block = os.pread(handle, _BLOCK, at + 1)
        found = block.find(_MAGIC)
        at += 1 + (found if found >= 0 else max(len(block) - len(_MAGIC) + 1, 0))
    return at if at + HEAD <= size else None


def _is_head(head: bytes, left: int) -> bool:
    if len(head) < HEAD or not head.startswith(_MAGIC):
        return False
    words = _WORDS.unpack(head)
    return bool(zlib.crc32(head[:-4]) == words[5] and HEAD + words[2] <= left)
