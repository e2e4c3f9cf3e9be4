"""How well the mean logits of some models predict; a model joins or leaves by one addition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from callup.aggregation.subset_likelihood import MOST, contenders
from callup.core.draws import quantised
from callup.core.errors import InputError

Score = Literal["accuracy", "likelihood"]

_AT_A_TIME = 64  # samples turned around, so that many classes stay in the cache
_FAR = 2.0**20  # a logit this far from the label's has long decided its sample


class Ensemble:
    """Some of a list of models, voting by the sum of their logits; begins with none of them.

    Kept are differences from the label's logit, rounded to a common step so coarse that float64 adds any number of
    them exactly: a running sum never drifts, and no order of models changes a score. One model gone astray must not
    make the step too coarse for the rest, so differences beyond a million count as a million.
    """

    def __init__(self, logits: Sequence[np.ndarray], labels: np.ndarray, score: Score) -> None:
        if not len(logits):
            raise InputError("an ensemble is chosen from at least one model, got none")
        samples, classes = logits[0].shape
        self._kind = score
        self._parts = np.empty((len(logits), classes, samples))  # classes outside: scores run along samples
        for part, one in zip(self._parts, logits, strict=True):
            for some in (slice(at, at + _AT_A_TIME) for at in range(0, samples, _AT_A_TIME)):
                exact = one[some].astype(np.float64)
                np.subtract(exact.T, exact[np.arange(len(exact)), labels[some]], out=part[:, some])
        np.clip(self._parts, -_FAR, _FAR, out=self._parts)
        widest = max(self._parts.max(), -self._parts.min())
        _, exponent = np.frexp(len(logits) * widest)
        step = np.ldexp(1.0, int(exponent) - 53)  # any sum is a whole number of steps, below 2**53
        self._parts /= step
        np.rint(self._parts, out=self._parts)
        self._parts *= step
        self._sum = np.zeros((classes, samples))
        if score == "accuracy":
            # argmax takes the first of equals: a class before the label must be lower by a step to leave it ahead.
            self._sum[np.arange(classes)[:, None] < labels] = step
        self._room, self._top = np.empty_like(self._sum), np.empty(samples)
        self.members = np.zeros(len(logits), bool)

    def flip(self, row: int) -> None:
        """The model joins, or leaves when it was in."""
        if self.members[row]:
            self._sum -= self._parts[row]
        else:
            self._sum += self._parts[row]
        self.members[row] = not self.members[row]

    def become(self, wanted: int) -> None:
        """Exactly the models whose bits are set in this number."""
        for row, inside in enumerate(self.members):
            if bool(wanted >> row & 1) != inside:
                self.flip(row)

    def worth_ranking(self) -> np.ndarray:
        """For every set of models, as bits of its number, whether it may be the best; True where nothing is known."""
        if self._kind == "likelihood" and self._parts.max() <= MOST:
            return contenders(self._parts)
        return np.ones(2 ** len(self.members), bool)

    def rank(self) -> tuple[float, int]:
        """The score, then the number of members: of equal scores the larger ensemble is the better."""
        size = int(np.count_nonzero(self.members))
        return (self._right() if self._kind == "accuracy" else self._log_likelihood(size)), size

    def _right(self) -> float:
        """Samples on which no class is ahead of the label."""
        np.maximum.reduce(self._sum, axis=0, out=self._top)
        return float(np.count_nonzero(self._top <= 0))

    def _log_likelihood(self, size: int) -> float:
        """Mean log softmax of the label's mean logit, to 36 bits: the last ones hang on the machine."""
        np.divide(self._sum, size, out=self._room)
        np.maximum.reduce(self._room, axis=0, out=self._top)
        self._room -= self._top
        np.exp(self._room, out=self._room)
        log_sum = np.log(self._room.sum(axis=0))
        return -float(quantised((log_sum + self._top).mean()))
