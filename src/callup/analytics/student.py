"""Student's interval of a mean: what few paired differences can say."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

NORMAL = 1.959964
"""The 97.5 % quantile that Student's approaches."""
_QUANTILES = (12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281)  # 97.5 %, 1 to 10 dof


@dataclass(frozen=True)
class Gap:
    """A mean difference and its 95 % interval; of a single pair nothing is known but the difference."""

    mean: float
    low: float
    high: float
    pairs: int


def student(freedom: int) -> float:
    """Student's 97.5 % quantile; beyond the table, its expansion about the normal one."""
    if freedom <= len(_QUANTILES):
        return _QUANTILES[freedom - 1]
    first = (NORMAL**3 + NORMAL) / 4
    second = (5 * NORMAL**5 + 16 * NORMAL**3 + 3 * NORMAL) / 96
    third = (3 * NORMAL**7 + 19 * NORMAL**5 + 17 * NORMAL**3 - 15 * NORMAL) / 384
    return NORMAL + first / freedom + second / freedom**2 + third / freedom**3


def paired_gap(one: Mapping[int, float], other: Mapping[int, float]) -> Gap | None:
    """The difference `one - other` over what both have, e.g. seeds; None when they share nothing."""
    shared = sorted(one.keys() & other.keys())
    if not shared:
        return None
    values = np.array([one[key] - other[key] for key in shared])
    middle, n = float(values.mean()), len(values)
    if n == 1:
        return Gap(middle, -math.inf, math.inf, 1)
    half = student(n - 1) * float(values.std(ddof=1)) / math.sqrt(n)
    return Gap(middle, middle - half, middle + half, n)
