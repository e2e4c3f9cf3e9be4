"""Words that occur, each once, with what all their occurrences want of them added up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Distinct:
    """Occurrence i is of the word found[place[i]]."""

    found: np.ndarray
    place: np.ndarray
    _order: np.ndarray
    _starts: np.ndarray

    @classmethod
    def of(cls, words: np.ndarray) -> Distinct:
        order = np.argsort(words, kind="stable")
        ordered = words[order]
        first = np.ones(len(words), bool)
        first[1:] = ordered[1:] != ordered[:-1]
        place = np.empty(len(words), np.intp)
        place[order] = np.cumsum(first) - 1
        return cls(ordered[first], place, order, np.flatnonzero(first))

    def summed(self, rows: np.ndarray) -> np.ndarray:
        """The sum over all occurrences of each word."""
        return np.add.reduceat(rows[self._order], self._starts, axis=0) if len(self.place) else rows[:0]
