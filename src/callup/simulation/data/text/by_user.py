"""Texts by user as JSON lines: {"user", "n", "samples": [{"t": text, "ts": when}]}."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from callup.core.errors import InputError
from callup.simulation.data.finder import Layout, load
from callup.simulation.data.text.json_lines import field, objects
from callup.simulation.data.text.posts import Post, Source


def read_by_user(path: Path) -> Iterator[Post]:
    """Every sample of every user; a user with fewer samples than announced is refused, for the file is not whole."""
    for number, found in objects(path):
        where = f"{path}, line {number:,}"
        user, samples = field(found, "user", str, where), field(found, "samples", list, where)
        if field(found, "n", int, where) != len(samples):
            raise InputError(f"{where}: '{user}' has {len(samples):,} samples, not the {found['n']:,} it announces")
        for sample in samples:
            if not isinstance(sample, dict):
                raise InputError(f"{where}: a sample of '{user}' is {sample!r:.40}, expected an object")
            yield Post(user, field(sample, "t", str, where), str(sample.get("ts", "")))


def corpus(name: str, file: str, origin: str) -> Source:
    """A corpus of this form from a data folder; `origin` says where it comes from."""

    def reader(paths: list[Path]) -> Source:
        return partial(read_by_user, paths[0])

    return load(name, (Layout((file,), reader, packed=True),), origin)
