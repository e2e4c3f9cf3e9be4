"""Which guessed class is which true one: the cheapest one-to-one assignment."""

from __future__ import annotations

import numpy as np


def assignment(cost: np.ndarray) -> np.ndarray:
    """For each row of a square table its column, such that the total cost is least.

    Shortest augmenting paths with potentials (Kuhn, Munkres; Jonker and Volgenant): one row after the other is placed,
    and those in its way move on.

    >>> assignment(np.array([[4.0, 1.0, 3.0], [2.0, 0.0, 5.0], [3.0, 2.0, 2.0]]))
    array([1, 0, 2])
    """
    n = len(cost)
    row_price, column_price = np.zeros(n), np.zeros(n + 1)
    owner = np.full(n + 1, -1)  # the row that holds each column; the last column is where a search starts
    for row in range(n):
        owner[n], here = row, n
        least, before = np.full(n, np.inf), np.full(n, n)
        done = np.zeros(n + 1, bool)
        while owner[here] >= 0:
            done[here] = True
            held = owner[here]
            slack = cost[held] - row_price[held] - column_price[:n]
            better = ~done[:n] & (slack < least)
            least[better], before[better] = slack[better], here
            step = np.where(done[:n], np.inf, least)
            nearest = int(step.argmin())
            delta = step[nearest]
            row_price[owner[done]] += delta
            column_price[done] -= delta
            least[~done[:n]] -= delta
            here = nearest
        while here != n:
            owner[here] = owner[before[here]]
            here = before[here]
    found = np.empty(n, np.int64)
    found[owner[:n]] = np.arange(n)
    return found
