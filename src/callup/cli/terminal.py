"""Where words go: results to stdout, everything else to stderr; nothing from a file reaches the terminal raw."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console

PIPE_WIDTH = 100
"""Columns when the output is not a terminal and COLUMNS does not say."""

_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-_]?")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]+")


def clean(text: object) -> str:
    """One line without escape sequences, control characters or marks that turn the writing around."""
    return _CONTROLS.sub(" ", _ESCAPES.sub("", str(text))).strip()


def results() -> Console:
    """The console for what was asked for."""
    return _console(sys.stdout)


def notices() -> Console:
    """The console for progress and hints."""
    return _console(sys.stderr)


def is_terminal(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def say(line: str = "") -> None:
    """A plain line on stderr."""
    print(line, file=sys.stderr, flush=True)


def suggest_next(*commands: str) -> None:
    """How every command ends: with what to try now."""
    sys.stdout.flush()  # where both streams go to one place, the hint comes last
    for number, command in enumerate(commands):
        say(f"{'next:' if number == 0 else '  or:'} {command}")


def print_json(document: Any) -> None:
    """Strict JSON: no NaN, no trailing words."""
    print(json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False))


def _console(stream: TextIO) -> Console:
    from rich.console import Console

    known = is_terminal(stream) or "COLUMNS" in os.environ
    # Markup off: a method or a title may hold [brackets], and they are only text.
    return Console(
        file=stream, width=None if known else PIPE_WIDTH, markup=False, highlight=False, emoji=False, soft_wrap=False
    )
