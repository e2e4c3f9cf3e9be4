"""How sure a difference is: a paired bootstrap over seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from callup.analytics.student import NORMAL, student
from callup.core.randomness import stream

FEWEST = 3
"""With fewer paired seeds no difference is called more than noise."""


@dataclass(frozen=True)
class Interval:
    """A mean difference and where it may lie with 95 % confidence."""

    mean: float
    low: float
    high: float
    seeds: int

    @property
    def distinct(self) -> bool:
        """Whether the difference is more than noise."""
        return self.seeds >= FEWEST and (self.low > 0 or self.high < 0)


def paired(one: Mapping[int, float], other: Mapping[int, float]) -> Interval | None:
    """The difference `one - other` over the seeds both have; None when they share none."""
    shared = sorted(one.keys() & other.keys())
    return bootstrap([one[seed] - other[seed] for seed in shared]) if shared else None


def bootstrap(differences: Sequence[float], resamples: int = 10_000) -> Interval:
    """The percentile interval of resampled means, stretched about the mean for few seeds.

    Resampling n values understates their spread by sqrt((n-1)/n) and knows nothing of Student's heavier tails, so
    with the usual three to five seeds the plain interval would call noise a difference several times too often.
    """
    values = np.asarray(differences, np.float64)
    n, middle = len(values), float(values.mean())
    if n == 1:
        return Interval(middle, -math.inf, math.inf, 1)
    rows = stream(0, "report", "bootstrap").integers(0, n, (resamples, n))
    low, high = np.quantile(values[rows].mean(axis=1), [0.025, 0.975])
    stretch = math.sqrt(n / (n - 1)) * student(n - 1) / NORMAL
    return Interval(middle, middle + stretch * (float(low) - middle), middle + stretch * (float(high) - middle), n)
