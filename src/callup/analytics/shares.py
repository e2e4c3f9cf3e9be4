"""A share of a number of clients, in whole clients."""

from __future__ import annotations

import math


def floor_share(share: float, of: float) -> int:
    """floor(share * of); a product that rounding left a few bits below a whole number is that number.

    >>> floor_share(1 - 0.9, 10), floor_share(0.29, 100), floor_share(0.75, 7)
    (1, 29, 5)
    """
    return math.floor(share * of + 1e-9)
