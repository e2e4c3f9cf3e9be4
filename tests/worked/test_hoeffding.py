"""Hoeffding's inequality: by hand, against exact binomial tails, and there and back."""

import math

import numpy as np
import pytest

from callup import stream
from callup.analytics.hoeffding import log_p, log_tail, q_from_log_p


def test_one_dimension_by_hand():
    # Eq. 12 with eps = 1, M = 8, b - a = 2: 2 exp(-2 * 1 * 8 / 4) = 2 exp(-4).
    np.testing.assert_allclose(log_tail(np.array([1.0]), 8, 2.0), [math.log(2) - 4], rtol=1e-15)


def test_two_dimensions_by_hand():
    # eps = (0.6, 0.8), a distance of 1. Eq. 24: 2 exp(-2 * 0.36 * 8 / 4) * 2 exp(-2 * 0.64 * 8 / 4) = 4 exp(-4).
    p = 2 * math.exp(-1.44) * 2 * math.exp(-2.56)
    assert math.isclose(p, 4 * math.exp(-4))
    found = log_p(np.array([1.0]), 8, 2.0, dimensions=2)
    np.testing.assert_allclose(found, [math.log(p)], rtol=1e-14)
    # Eq. 26 with ln P in place of the printed P: sqrt((2 ln 2 - ln P) * 4 / 16) = sqrt(4 * 4 / 16) = 1.
    np.testing.assert_allclose(q_from_log_p(found, 8, 2.0, dimensions=2), [1.0], rtol=1e-14)
    # As printed it would be the root of (1.386 - 0.073) / 4, about 0.573, and no distance.
    assert round(math.sqrt((2 * math.log(2) - p) * 4 / 16), 3) == 0.573


@pytest.mark.parametrize("n", [1, 2, 5, 12])
@pytest.mark.parametrize("p", [0.1, 0.5, 0.8])
def test_it_bounds_the_exact_tail_of_coins(n, p):
    # n coins in [0, 1]: the chance that their mean is eps or more away from p, summed over all numbers of heads.
    heads = [math.comb(n, h) * p**h * (1 - p) ** (n - h) for h in range(n + 1)]
    for eps in (0.05, 0.1, 0.3, 0.5, 0.7, 0.9):
        tail = sum(chance for h, chance in enumerate(heads) if abs(h / n - p) >= eps - 1e-12)
        assert tail <= math.exp(log_tail(np.array([eps]), n, 1.0)[0])


def test_there_and_back():
    rng = stream(0, "there")
    distance, samples = rng.uniform(0, 5, 50), rng.integers(1, 3000, 50)
    back = q_from_log_p(log_p(distance, samples, 3.0, 10), samples, 3.0, 10)
    np.testing.assert_allclose(back, distance, rtol=1e-6)


def test_p_falls_with_distance_and_with_samples_and_rises_with_the_span():
    far = np.array([0.0, 1.0, 2.0])
    assert (np.diff(log_p(far, 10, 4.0, 3)) < 0).all()
    assert (np.diff(log_p(np.ones(3), np.array([1, 10, 100]), 4.0, 3)) < 0).all()
    assert log_p(np.ones(1), 10, 4.0, 3)[0] < log_p(np.ones(1), 10, 8.0, 3)[0]


def test_a_million_dimensions_stay_in_range():
    # 2^1000000 is no float, and exp(-2000000) is 0; their logarithms differ by 1000000 ln 2 - 2000000.
    found = log_p(np.array([0.0, 10.0]), 10_000, 1.0, 1_000_000)
    np.testing.assert_allclose(found, [693147.180559945, 693147.180559945 - 2_000_000], rtol=1e-14)


def test_equal_vectors_do_not_deviate():
    # No span: the least and the greatest number are one and the same, so nobody is away from the mean.
    np.testing.assert_allclose(log_p(np.zeros(2), 10, 0.0, 3), 3 * math.log(2), rtol=1e-15)
