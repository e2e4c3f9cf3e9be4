"""The most even sizes, by hand, by brute force over every support, and by the conditions of optimality."""

from itertools import chain, combinations

import numpy as np
import pytest

from callup.core.randomness import stream
from callup.partition.min_norm import min_norm_sizes


def best_of_every_support(mixes, totals):
    """Solves the equality problem on each set of clients and keeps the shortest solution without negative sizes."""
    best, n = None, len(mixes)
    for support in chain.from_iterable(combinations(range(n), r) for r in range(1, n + 1)):
        part = mixes[list(support)]
        sizes = np.linalg.lstsq(part.T, totals, rcond=None)[0]  # the shortest one, where there are many
        if np.allclose(part.T @ sizes, totals, atol=1e-9) and (sizes >= -1e-12).all():
            x = np.zeros(n)
            x[list(support)] = sizes
            if best is None or x @ x < best @ best - 1e-12:
                best = x
    return best


def test_by_hand():
    # x1 = x2 = 3 - x3/2; the sum of squares is smallest at x3 = 2.
    sizes = min_norm_sizes(np.array([[1, 0], [0, 1], [0.5, 0.5]]), np.array([3, 3]))
    np.testing.assert_allclose(sizes, [2, 2, 2])


def test_a_client_that_only_hurts_gets_nothing():
    # x1 = 2 and x2 = 8 give the totals. Multipliers: y2 = 8, 0.1 y1 + 0.9 y2 = 2, so y1 = -52, and the third client's
    # 0.9 y1 + 0.1 y2 = -46 is below zero: any of its scarce class 0 would make the others less even.
    sizes = min_norm_sizes(np.array([[0.1, 0.9], [0, 1], [0.9, 0.1]]), np.array([0.2, 9.8]))
    np.testing.assert_allclose(sizes, [2, 8, 0], atol=1e-8)


@pytest.mark.parametrize("seed", range(25))
def test_against_every_support(seed):
    rng = stream(seed, "mixes")
    mixes = rng.dirichlet(np.full(3, 0.6), 7)
    totals = rng.integers(1, 40, 3).astype(float)
    sizes, exact = min_norm_sizes(mixes, totals), best_of_every_support(mixes, totals)
    assert (sizes is None) == (exact is None)
    if exact is not None:
        np.testing.assert_allclose(sizes, exact, atol=1e-6)


def test_brute_force_cases_cover_both_kinds():
    """The cases above hold some without a solution and some where a client gets nothing; else they prove little."""
    kinds = set()
    for seed in range(25):
        rng = stream(seed, "mixes")
        mixes = rng.dirichlet(np.full(3, 0.6), 7)
        exact = best_of_every_support(mixes, rng.integers(1, 40, 3).astype(float))
        kinds.add("none" if exact is None else "zeros" if (exact < 1e-9).any() else "all positive")
    assert kinds >= {"none", "zeros", "all positive"}


@pytest.mark.parametrize("clients", [30, 200, 3000])
@pytest.mark.parametrize("alpha", [0.01, 0.05, 1.0])
def test_conditions_of_optimality(clients, alpha):
    totals = np.array([500, 400, 400, 350, 300, 300, 250, 200, 200, 100]) * 10.0
    draws = (stream(attempt, "kkt", clients).dirichlet(np.full(10, alpha), clients) for attempt in range(50))
    mixes, sizes = next((m, s) for m in draws if (s := min_norm_sizes(m, totals)) is not None)
    np.testing.assert_allclose(mixes.T @ sizes, totals, rtol=1e-8)
    assert (sizes >= 0).all()
    # Stationarity: some multipliers y give x_i = q_i . y where x_i > 0, and q_i . y <= 0 where x_i = 0.
    held = sizes > 0
    y = np.linalg.lstsq(mixes[held], sizes[held], rcond=None)[0]
    np.testing.assert_allclose(mixes[held] @ y, sizes[held], atol=1e-6 * sizes.max())
    assert (mixes[~held] @ y <= 1e-6 * sizes.max()).all()


def test_no_solution():
    # Every client is at least half class 0, so class 1 cannot be the larger one.
    assert min_norm_sizes(np.array([[0.5, 0.5], [0.7, 0.3], [1.0, 0.0]]), np.array([10, 11])) is None
    # Nobody holds class 1 at all.
    assert min_norm_sizes(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([10, 1])) is None


def test_just_solvable():
    sizes = min_norm_sizes(np.array([[0.5, 0.5], [0.7, 0.3], [1.0, 0.0]]), np.array([10, 10]))
    np.testing.assert_allclose(sizes, [20, 0, 0], atol=1e-6)
