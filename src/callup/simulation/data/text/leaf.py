"""LEAF's JSON: {"users", "num_samples", "user_data": {user: {"x": [...], "y": [...]}}}, one file or a folder of them.

A sample is a string, or words in lists within lists as LEAF's Reddit has them, padding left out. LEAF's Shakespeare
holds every stretch of 80 letters with the letter that follows: such overlapping strings become running text again.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from callup.core.errors import InputError
from callup.simulation.data.files import reading
from callup.simulation.data.text.json_lines import document, field
from callup.simulation.data.text.posts import Post

_MARKS = {"<PAD>", "<BOS>", "<EOS>"}


def read_leaf(path: Path) -> Iterator[Post]:
    """Every sample of every user, in the order of the files' names."""
    with reading(path):
        files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not files:
        raise InputError(f"{path}: holds no .json file; LEAF writes its data to files such as all_data_0.json")
    for file in files:
        found = document(file)
        users, data = field(found, "users", list, str(file)), field(found, "user_data", dict, str(file))
        for user in map(str, users):
            where = f"{file}, user '{user}'"
            own = field(data, user, dict, where)
            for text in _texts(field(own, "x", list, where), own.get("y"), where):
                yield Post(user, text)


def _texts(x: list[Any], y: Any, where: str) -> list[str]:
    if isinstance(y, list) and len(y) == len(x) and all(isinstance(each, str) for each in x):
        if y and all(isinstance(letter, str) and len(letter) == 1 for letter in y):
            return _unrolled(x, y)
        return list(x)
    return [each if isinstance(each, str) else " ".join(_flat(each, where)) for each in x]


def _unrolled(x: list[str], y: list[str]) -> list[str]:
    """Each string that goes on where the one before ended adds its letter alone."""
    texts: list[list[str]] = []
    expected = None
    for window, letter in zip(x, y, strict=True):
        if window != expected or not texts:
            texts.append([window])
        texts[-1].append(letter)
        expected = window[1:] + letter
    return ["".join(parts) for parts in texts]


def _flat(sample: Any, where: str) -> Iterator[str]:
    if isinstance(sample, str):
        if sample not in _MARKS:
            yield sample
        return
    if not isinstance(sample, list):
        raise InputError(f"{where}: a sample holds {sample!r:.40}, expected text or lists of words")
    for part in sample:
        yield from _flat(part, where)
