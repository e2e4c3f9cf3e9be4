"""Lazy greedy, which computes few gains, against the greedy choice that computes all of them."""

from itertools import combinations

import numpy as np
import pytest

from callup import stream
from callup.analytics.facility import lazy_greedy, stochastic_greedy


def cost(distances, rows):
    return sum(min(distances[row][column] for row in rows) for column in range(len(distances[0])))


def plain(distances, count):
    """Every pick is the candidate that leaves the smallest sum, the earliest where several do."""
    table, picked = distances.tolist(), []
    while len(picked) < min(count, len(table)):
        left = [row for row in range(len(table)) if row not in picked]
        picked.append(min(left, key=lambda row: (round(cost(table, [*picked, row]), 9), row)))
    return picked


def tables():
    for seed in range(12):
        rng = stream(seed, "points")
        n, served = int(rng.integers(2, 15)), int(rng.integers(2, 25))
        points, others = rng.normal(size=(n, 3)), rng.normal(size=(served, 3))
        yield np.linalg.norm(points[:, None] - others, axis=2)
        # Whole numbers, so that many candidates tie.
        yield rng.integers(0, 4, (n, served)).astype(float)


@pytest.mark.parametrize("table", list(tables()))
def test_lazy_is_plain(table):
    for count in (1, 2, 5, len(table), len(table) + 3):
        assert lazy_greedy(table, count).tolist() == plain(table, count)


@pytest.mark.parametrize("table", list(tables()))
def test_stochastic_that_inspects_everyone_is_plain(table):
    assert stochastic_greedy(table, 4, len(table), stream(0)).tolist() == plain(table, 4)


def test_stochastic_inspects_as_many_as_it_is_told():
    # One candidate is best for all others. Inspecting 3 of 10, it is first in 3 of 10 choices: 6 standard deviations.
    table = np.ones((10, 20))
    table[4] = 0
    first = [stochastic_greedy(table, 2, 3, stream(seed, "lot"))[0] == 4 for seed in range(1000)]
    assert abs(np.mean(first) - 0.3) < 6 * np.sqrt(0.3 * 0.7 / 1000)  # false alarm 2e-9


@pytest.mark.parametrize("seed", range(6))
def test_greedy_comes_near_the_best_set_of_all(seed):
    # The sum avoided, against a phantom as far as the farthest, is at least 1 - 1/e of the most that can be avoided.
    points = stream(seed, "points").normal(size=(9, 2))
    table = np.linalg.norm(points[:, None] - points, axis=2)
    most = 9 * table.max()
    best = min(cost(table, rows) for rows in combinations(range(9), 3))
    assert most - cost(table, lazy_greedy(table, 3)) >= (1 - 1 / np.e) * (most - best)


def test_nobody_to_choose_from():
    assert lazy_greedy(np.empty((0, 3)), 2).tolist() == []
    assert lazy_greedy(np.ones((2, 3)), 0).tolist() == []
    assert stochastic_greedy(np.empty((0, 3)), 2, 1, stream(0)).tolist() == []
