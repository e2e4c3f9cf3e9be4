"""FedEMD in which clients call themselves up: each works out its own weight and tosses its own coin.

What is needed of all together is D_g, the counts of all clients, D_c, the counts of those who took part so far, and the
sum of weights. No row of counts leaves a client. The price: the cohort is K on average, not K, and a client that lies
about its coin is not found out.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence

import numpy as np

from callup.analytics.emd import distances
from callup.core.errors import InputError, UsageError
from callup.core.types import check_k
from callup.privacy.counts import whole_counts
from callup.privacy.field import MODULUS

_FINE = 1 << 53
GRAIN = 512
"""Weights are summed as whole numbers of 1/512, so that they can be shared and added as counts are."""


def own_weight(
    counts: Sequence[float] | np.ndarray, everyone: np.ndarray, seen: np.ndarray, index: int, beta: float, client: int
) -> float:
    """exp( EMD(D_g, D_i) - t beta EMD(D_c, D_i) ), Eq. 14 before it is normalised, at the client."""
    own = whole_counts(counts, client)[None]
    if not own.any():
        return 0.0
    far = float(distances(everyone, own)[0])
    near = float(distances(seen, own)[0]) if np.any(seen) else 0.0
    return math.exp(far - check_k(index, "round index") * beta * near)


def as_grains(weight: float) -> int:
    """A weight as the whole number that goes into the sum; at most e, since no distance is above 1."""
    if not 0 <= weight <= math.e:
        raise InputError(f"a weight lies between 0 and e, got {weight:g}")
    return round(weight * GRAIN)


def most_clients() -> int:
    """Up to so many clients the sum of weights is exact."""
    return math.floor(MODULUS / (math.e * GRAIN + 1))


def joins(weight: float, total: float, k: int) -> bool:
    """The client's coin: K times its share of all weights, from the system's secure randomness."""
    if not 0 < total < math.inf:
        raise UsageError(f"the sum of weights must be above 0 and finite, got {total:g}")
    return secrets.randbelow(_FINE) < min(check_k(k) * weight / total, 1.0) * _FINE


class SeenCounts:
    """When D_c may be opened: not before enough clients were added to it since the last time.

    Two openings differ by the counts of those who took part between them; of few clients this says too much.
    """

    def __init__(self, minimum: int = 20) -> None:
        self._minimum = check_k(minimum, "minimum")
        self._since: list[int] = []

    def add(self, ids: Sequence[int]) -> None:
        """These took part; their shares are added to the running sum by whoever holds them."""
        self._since += [int(client) for client in ids]

    @property
    def may_open(self) -> bool:
        return len(set(self._since)) >= self._minimum

    def opened(self) -> list[int]:
        """Who is in the new part, one entry for each time; refused when they are too few."""
        if not self.may_open:
            raise InputError(
                f"counts of {len(set(self._since))} clients more are not opened: the minimum is {self._minimum}; "
                f"use the counts opened before"
            )
        added, self._since = self._since, []
        return added
