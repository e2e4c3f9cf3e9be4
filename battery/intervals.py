"""A mean of paired differences with its 95 % interval, by Student's t."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

_T = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131),
    *(2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
"""The 97.5 % quantile for 1, 2, ... 30 degrees of freedom; beyond that, that of 30 is a little too wide."""


@dataclass(frozen=True)
class Interval:
    mean: float
    low: float
    high: float

    def times(self, factor: float) -> Interval:
        return Interval(self.mean * factor, self.low * factor, self.high * factor)

    def __str__(self) -> str:
        return f"{self.mean:+.1f} [{self.low:+.1f}, {self.high:+.1f}]".replace("-", "−")


def interval(values: Sequence[float]) -> Interval:
    """The mean of these values; with fewer than two nothing is known of how far off it is."""
    mean = statistics.mean(values)
    if len(values) < 2:
        return Interval(mean, -math.inf, math.inf)
    half = _T[min(len(values) - 1, len(_T)) - 1] * statistics.stdev(values) / math.sqrt(len(values))
    return Interval(mean, mean - half, mean + half)
