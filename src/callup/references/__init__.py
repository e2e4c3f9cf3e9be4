"""The papers behind the methods, in BibTeX; an entry's keywords are the methods it stands for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class Reference:
    """One entry as it stands in a .bib file, without the keywords."""

    key: str
    bibtex: str
    methods: frozenset[str]


@cache
def references() -> tuple[Reference, ...]:
    """Every entry, the five papers first."""
    text = files(__name__).joinpath("methods.bib").read_text(encoding="utf-8")
    return tuple(map(_reference, text.strip().split("\n\n")))


def cited(methods: Iterable[str]) -> list[Reference]:
    """The entries of these methods, in the order of the file, each once."""
    wanted = frozenset(methods)
    return [reference for reference in references() if reference.methods & wanted]


def _reference(entry: str) -> Reference:
    key = re.match(r"@\w+\{(\w+),", entry)
    methods = re.search(r",\n\s*keywords\s*= \{([^}]*)\}", entry)
    assert key and methods, f"an entry of methods.bib cannot be read: {entry[:60]}"
    return Reference(key[1], entry.replace(methods[0], ""), frozenset(methods[1].split(", ")))
