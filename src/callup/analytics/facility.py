"""Facility location: places so chosen that everybody has one of them near.

G(S) = sum_i min_{j in S} d_ij is made small by a greedy choice, which comes within a factor of the best of its kind,
because one place more adds less, the more there are.
"""

from __future__ import annotations

import heapq

import numpy as np

from callup.core.draws import quantised
from callup.core.randomness import client_uniforms


def lazy_greedy(distances: np.ndarray, count: int) -> np.ndarray:
    """The rows picked by the greedy choice, in the order picked: rows are candidates, columns those to be served.

    A gain computed earlier is an upper bound of the gain now, so only those at the top are computed again. Ties fall on
    the earlier row: shuffle first.

    >>> lazy_greedy(np.array([[0.0, 1.0, 9.0], [1.0, 0.0, 8.0], [9.0, 8.0, 0.0]]), 2)  # sums 10, 9 and 17
    array([1, 2])
    """
    if not count or not len(distances):
        return np.empty(0, np.intp)
    picked = [int(quantised(distances.sum(axis=1)).argmin())]
    near = distances[picked[0]].copy()
    gains = quantised(np.maximum(near - distances, 0.0).sum(axis=1))
    heap = [(-gain, row) for row, gain in enumerate(gains.tolist()) if row != picked[0]]
    heapq.heapify(heap)
    while heap and len(picked) < count:
        _, row = heapq.heappop(heap)
        now = (-float(quantised(np.maximum(near - distances[row], 0.0).sum())), row)
        if heap and now > heap[0]:
            heapq.heappush(heap, now)
            continue
        picked.append(row)
        np.minimum(near, distances[row], out=near)
    return np.array(picked)


def stochastic_greedy(distances: np.ndarray, count: int, inspect: int, rng: np.random.Generator) -> np.ndarray:
    """The same, but every pick looks at no more than `inspect` candidates drawn at random (Mirzasoleiman et al., 2015).

    With as many to inspect as there are it is the greedy choice itself.
    """
    left, near = np.arange(len(distances)), np.full(distances.shape[1], np.inf)
    picked: list[int] = []
    while len(left) and len(picked) < count:
        lot = client_uniforms(rng, left)
        seen = np.sort(left[np.argsort(lot, kind="stable")[:inspect]])
        served = np.minimum(near, distances[seen])
        best = int(seen[quantised(served.sum(axis=1)).argmin()])
        picked.append(best)
        near = np.minimum(near, distances[best])
        left = left[left != best]
    return np.array(picked, np.intp)
