"""JSON, line by line or whole, with one sentence for what is wrong and where."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from callup.core.errors import InputError
from callup.simulation.data.files import opened

LONGEST = 1 << 28
"""Bytes in a line: a small packed file must not unpack into all of memory."""


def objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line numbers from 1 and the object on each line; empty lines are passed over."""
    with opened(path) as (stream, _):
        for number in itertools.count(1):
            line = stream.readline(LONGEST + 1)
            if not line:
                return
            if len(line) > LONGEST:
                raise InputError(f"{path}, line {number:,}: is longer than {LONGEST:,} bytes; is it the right file?")
            if line.strip():
                yield number, _object(line, f"{path}, line {number:,}")


def document(path: Path) -> dict[str, Any]:
    """A file that is one object."""
    with opened(path) as (stream, _):
        return _object(stream.read(), str(path))


def field(found: dict[str, Any], name: str, kind: type, where: str) -> Any:
    """A value of this type, or a sentence that names the field."""
    if not isinstance(found.get(name), kind):
        raise InputError(
            f"{where}: '{name}' is {found.get(name)!r:.40}, expected {_WORDS[kind]}; is it the right file?"
        )
    return found[name]


def _object(content: bytes, where: str) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: is not JSON ({error}); it may be cut short, fetch it again") from error
    if not isinstance(found, dict):
        raise InputError(f"{where}: holds {type(found).__name__}, expected an object; is it the right file?")
    return found


_WORDS = {str: "text", list: "a list", dict: "an object", int: "a whole number"}
