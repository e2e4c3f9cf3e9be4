"""Oort's pacer: how long a round should last, made longer when hurrying no longer pays.

Lai et al., OSDI 2021, Algorithm 1, lines 7-8, and the law of the authors' code. A pace is a number of seconds, or a
percentile of all clients' durations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_FLAT, _SHARP = 0.1, 5.0  # of the window before: a change this small relaxes the percentile, one this large tightens it


@dataclass(frozen=True)
class Pacer:
    """`step` is in seconds, or in points when a `percentile` to begin with is given; `window` is in rounds."""

    step: float
    window: int
    percentile: float | None = None

    @property
    def first(self) -> float:
        """The pace of the first round."""
        return self.step if self.percentile is None else self.percentile

    def moved(self, pace: float, history: np.ndarray) -> tuple[float, np.ndarray]:
        """The next pace from the utility of past rounds, oldest first, and what of them is still to be compared.

        Two full windows are compared; then the older one is forgotten.
        """
        if len(history) < 2 * self.window:
            return pace, history
        before, after = float(history[: self.window].sum()), float(history[self.window :].sum())
        law = self._seconds if self.percentile is None else self._points
        return law(pace, before, after), history[self.window :]

    def _seconds(self, pace: float, before: float, after: float) -> float:
        """The paper: clients still to come are slower, so when utility falls they are given more time."""
        return pace + self.step if before > after else pace

    def _points(self, pace: float, before: float, after: float) -> float:
        """The authors' code: more time when utility hardly changes, less when it changes a great deal."""
        change = abs(after - before)
        if change <= _FLAT * before:
            return min(100.0, pace + self.step)
        return max(self.step, pace - self.step) if change >= _SHARP * before else pace

    def preferred(self, pace: float, durations: np.ndarray) -> float:
        """T, the seconds above which a client counts as slow, given all durations that are known."""
        if self.percentile is None:
            return pace
        if pace >= 100 or not len(durations):
            return np.inf
        place = min(int(len(durations) * pace / 100), len(durations) - 1)
        return float(np.partition(durations, place)[place])
