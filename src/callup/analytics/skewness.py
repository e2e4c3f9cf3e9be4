"""Skewness: how far a client's data lies from everybody's, read from the vector it sends (FedACS).

Wang et al., IWQoS 2021. It works on its own, with no model in training: any vector will do that is a mean over the
client's samples of something computed in the same way by all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from callup.analytics.hoeffding import log_p
from callup.analytics.supplied import Numbers, Table, bounds_of, sizes_of, vectors_of
from callup.core.draws import quantised
from callup.core.errors import UsageError
from callup.core.index import Ids


@dataclass(frozen=True)
class Skewness:
    """What their vectors say of some clients, in the order of `ids`."""

    ids: Ids
    distance: np.ndarray
    """From the mean vector."""
    q: np.ndarray
    """Q_i, higher for more skewed clients: the distance; size-aware, times sqrt(n_i / mean n)."""
    reward: np.ndarray
    """R_i = -Q_i."""
    log_p: np.ndarray
    """ln P_i, higher for less skewed clients: up to K ln 2, where K is the length of a vector."""
    bounds: tuple[float, float]
    """a_min and b_max, between which every entry of every sample's vector lies."""
    estimated_bounds: bool
    """The bounds are the least and the greatest entry of the vectors given. Single samples stray further than their
    means do, so P_i is then too low; the order of the clients does not depend on it."""
    centre_norm: float
    """Length of the mean vector, to compare distances with."""

    @property
    def ranking(self) -> Ids:
        """Ids, the least skewed first; equals in the order of ids."""
        return np.asarray(self.ids[np.lexsort((self.ids, -quantised(self.reward)))])


def analyse(
    insights: Table,
    ids: Iterable[int] | np.ndarray | None = None,
    sizes: Numbers | None = None,
    bounds: tuple[float, float] | None = None,
    size_aware: bool = False,
) -> Skewness:
    """Who is skewed, from one vector for each client; three or more clients, since two are always equally far apart.

    ids: 0, 1, 2, ... unless given. sizes: samples behind each vector; unless given, each counts as one sample, and P_i
    is the widest bound there is. bounds: a_min and b_max; unless given, they are estimated, and the result says so.
    size_aware: Q_i falls as P_i rises also where sizes differ. It then tells how surely a client is skewed at all,
    which large ones show best; the plain distance tells how much it is skewed.

    >>> analyse([[0.0, 0.0], [0.0, 3.0], [0.0, 9.0]], ids=[4, 7, 9]).ranking
    array([7, 4, 9])
    """
    vectors, names = vectors_of(insights, ids)
    if size_aware and sizes is None:
        raise UsageError("size_aware needs sizes: how many samples are behind each vector")
    samples = np.ones(len(names)) if sizes is None else sizes_of(sizes, names)
    low, high = (float(vectors.min()), float(vectors.max())) if bounds is None else bounds_of(bounds, vectors, names)
    distance = -rewards(vectors)
    # Eq. 26: with M each client's own size the distance itself, with one M for all, the mean size, size-aware.
    q = distance * np.sqrt(samples / samples.mean()) if size_aware else distance
    return Skewness(
        ids=names,
        distance=distance,
        q=q,
        reward=-q,  # Eq. 28
        log_p=log_p(distance, samples, high - low, vectors.shape[1]),
        bounds=(low, high),
        estimated_bounds=bounds is None,
        centre_norm=float(np.linalg.norm(vectors.mean(axis=0, dtype=np.float64))),
    )


def rewards(insights: np.ndarray, sizes: np.ndarray | None = None) -> np.ndarray:
    """How unskewed each participant looks, (m, d) -> (m,): minus its distance from the mean vector; higher is better.

    Eq. 14: R_i = -||g_i - mean g||_2, where the mean is over those who took part. Eq. 24 carries the number of samples
    inside the exponent; with `sizes` the distance is multiplied by sqrt(n_i), which tells clients of unequal sizes
    apart and changes no order among equal ones.

    >>> rewards(np.array([[0.0, 0.0], [0.0, 3.0], [0.0, 6.0]]))
    array([-3., -0., -3.])
    """
    with np.errstate(over="ignore", invalid="ignore"):  # vectors too long for float64 are infinitely far
        centre = np.mean(insights, axis=0, dtype=np.float64)
        # One row at a time: no second table of all vectors in float64.
        distances = np.array([np.sqrt(np.square(row - centre).sum()) for row in insights])
        if sizes is not None:
            distances = distances * np.sqrt(sizes)
    return -np.where(np.isnan(distances), np.inf, distances)
