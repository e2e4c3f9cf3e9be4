"""Ward's clustering: join, again and again, the two groups whose union is the most compact.

The tree is found along chains of nearest neighbours (Murtagh, 1983) in O(N^2) steps: two groups that are each other's
nearest may be joined at once, because no later union can come closer to either.
"""

from __future__ import annotations

import numpy as np

from callup.core.draws import quantised
from callup.core.errors import InputError


def ward(dissimilarity: np.ndarray) -> np.ndarray:
    """The tree over n leaves: row i names the two nodes joined into node n + i; children come before parents.

    The dissimilarity of groups follows Lance and Williams with Ward's coefficients; for Euclidean distances it measures
    how much the union adds to the squared distances from the mean. Ties fall on the earlier row: shuffle first.
    """
    table = np.asarray(dissimilarity, np.float64)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or not (np.isfinite(table) & (table >= 0)).all():
        raise InputError(f"ward needs a square table of dissimilarities of at least 0, got shape {table.shape}")
    n = len(table)
    squares = np.square(quantised(table))
    np.fill_diagonal(squares, np.inf)
    size, node, alive = np.ones(n), np.arange(n), np.ones(n, bool)
    joined = np.empty((max(n - 1, 0), 2), np.intp)
    chain: list[int] = []
    for step in range(n - 1):
        a, b = _nearest_pair(squares, alive, chain)
        joined[step] = sorted((node[a], node[b]))
        # d(ab, c)^2 = ((|a| + |c|) d(a, c)^2 + (|b| + |c|) d(b, c)^2 - |c| d(a, b)^2) / (|a| + |b| + |c|)
        near = squares[a, b]
        union = (size[a] + size) * squares[a] + (size[b] + size) * squares[b] - size * near
        union = np.maximum(union / (size[a] + size[b] + size), 0.0)
        union[a] = np.inf
        squares[a], squares[:, a] = union, union
        squares[b], squares[:, b] = np.inf, np.inf
        size[a] += size[b]
        node[a], alive[b] = n + step, False
    return joined


def _nearest_pair(squares: np.ndarray, alive: np.ndarray, chain: list[int]) -> tuple[int, int]:
    """Follows nearest neighbours from the end of the chain until two are each other's; takes both off the chain."""
    if not chain:
        chain.append(int(alive.argmax()))
    while True:
        here = chain[-1]
        near = int(squares[here].argmin())
        if len(chain) > 1 and squares[here, chain[-2]] <= squares[here, near]:
            chain.pop()
            return chain.pop(), here
        chain.append(near)


def cut(tree: np.ndarray, masses: np.ndarray, most: float) -> np.ndarray:
    """The group of each leaf: the highest node above it whose leaves weigh at most `most` together, or the leaf itself.

    >>> cut(np.array([[0, 1], [2, 3]]), np.array([1.0, 2.0, 9.0]), most=4.0)  # node 3 weighs 3, node 4 weighs 12
    array([3, 3, 2])
    """
    n = len(masses)
    mass = np.concatenate([masses, np.zeros(len(tree))])
    group = np.arange(n + len(tree))
    for step, (a, b) in enumerate(tree):
        mass[n + step] = mass[a] + mass[b]
    for step in range(len(tree) - 1, -1, -1):
        if mass[n + step] <= most * (1 + 1e-12):  # masses that fill a group exactly do fill it
            group[tree[step]] = group[n + step]
    return np.asarray(group[:n])
