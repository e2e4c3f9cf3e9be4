"""From authors to a task's three splits: rows of words, and at every place the word that comes next.

Word 0 stands before the first word of every text, word 1 for all words that are not in the vocabulary; neither is ever
asked. So accuracy is over places whose next word the vocabulary has: padding and unknown words are left out, not
counted as wrong and not counted as right.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from callup.core.errors import InputError, UsageError
from callup.core.randomness import stream
from callup.simulation.data.text.posts import Author
from callup.simulation.data.text.words import split_words
from callup.simulation.task import Data, Split

START, UNKNOWN = 0, 1
SPECIAL = 2
"""Word numbers below stand for no word of the vocabulary."""
_HELD_OUT = 0.1  # of an author's words for validation, and as many for the test

Line = tuple[list[str], list[bool]]
"""All words of an author, and for each whether a text begins with it."""


@dataclass(frozen=True)
class Prepared:
    """The splits, and the word of each number."""

    data: Data
    vocabulary: tuple[str, ...]


def prepare(
    authors: list[Author], vocabulary: int, length: int, stop_words: bool, validation: int, what: str
) -> Prepared:
    """Rows of `length` words. Every author has equally many, as many as the one with fewest words can fill.

    The oldest words of each author are for training, the next for validation and the last for the test. Vocabularies
    are made from training words alone, the most frequent first. Of the validation rows at most `validation` are kept,
    the same ones for every seed.
    """
    if vocabulary <= SPECIAL or length < 1 or validation < 1:
        raise UsageError(
            f"{what}: vocabulary must be above {SPECIAL} and length and validation at least 1, got {vocabulary}, "
            f"{length} and {validation}"
        )
    lines = _lines(authors, stop_words)
    fewest = min(len(words) for words, _ in lines)
    held = int(fewest * _HELD_OUT) // length
    rows = fewest // length - 2 * held
    if held < 1 or rows < 1:
        poorest = authors[min(range(len(lines)), key=lambda i: len(lines[i][0]))]
        raise InputError(
            f"{what}: '{poorest.name}' has {fewest:,} words left, too few for rows of {length} in three splits; raise "
            "tokens or lower length"
        )
    known = _most_frequent((words[: rows * length] for words, _ in lines), vocabulary - SPECIAL)
    numbers = {word: SPECIAL + place for place, word in enumerate(known)}
    bounds = np.cumsum([0, rows, held, held]) * length
    train, held_out, test = (
        _split([_numbered(line, numbers, int(a), int(b)) for line in lines], length) for a, b in pairwise(bounds)
    )
    if len(held_out) > validation:
        kept = np.sort(stream(0, "validation", what).permutation(len(held_out))[:validation])
        held_out = Split(held_out.x[kept], held_out.y[kept])
    owners = np.repeat(np.arange(len(authors)), rows)
    for array in (owners, *(part for split in (train, held_out, test) for part in (split.x, split.y))):
        array.setflags(write=False)  # every run in the process shares them
    return Prepared(Data(train, held_out, test, 1, owners), ("", "?", *known))


def _lines(authors: list[Author], stop_words: bool) -> list[Line]:
    """One for each author; nobody's is read further than the shortest before it, for no more is used."""
    lines: list[Line] = []
    enough = math.inf
    for author in authors:
        words: list[str] = []
        starts: list[bool] = []
        for text in author.texts:
            found = split_words(text, stop_words)
            words += found
            starts += [place == 0 for place in range(len(found))]
            if len(words) >= enough:
                break
        lines.append((words, starts))
        enough = min(enough, len(words))
    return lines


def _most_frequent(texts: Iterable[list[str]], size: int) -> list[str]:
    """Equally frequent words go by the alphabet."""
    counts = Counter[str]()
    for words in texts:
        counts.update(words)
    return sorted(counts, key=lambda word: (-counts[word], word))[:size]


def _numbered(line: Line, numbers: dict[str, int], start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
    """For each place: the word before it in the same text, or START, and the word itself, or -1 if it is unknown."""
    words, begins = line
    own = np.array([numbers.get(word, UNKNOWN) for word in words[start:stop]])
    before = np.concatenate([[START], own[:-1]])
    before[np.array(begins[start:stop])] = START
    return before, np.where(own == UNKNOWN, -1, own)


def _split(authors: list[tuple[np.ndarray, np.ndarray]], length: int) -> Split:
    x, y = (np.concatenate([pair[part] for pair in authors]).reshape(-1, length) for part in (0, 1))
    return Split(x, y)
