"""Utility of a client and of a set, by hand and against every set there is."""

from itertools import combinations

import numpy as np
import pytest

from callup import stream
from callup.analytics.utility import best_set_utility, client_utility, sample_utility, set_utility, standardised
from callup.core.errors import InputError


def test_client_utility_by_hand():
    # Losses 1, 2, 2: |D| = 3, mean square 9/3 = 3, U = 3 sqrt 3. The root mean square is sqrt 3.
    losses = np.array([1.0, 2.0, 2.0])
    assert sample_utility(losses) == pytest.approx(3 * np.sqrt(3))
    np.testing.assert_allclose(client_utility(np.array([3]), np.array([np.sqrt(3)])), [3 * np.sqrt(3)])
    assert sample_utility(np.empty(0)) == 0


def test_set_utility_is_equation_3():
    # U(B)^2 = sum_i |D_i| sum_d loss(d)^2: two clients with losses (1, 2, 2) and (4): 3 * 9 + 1 * 16 = 43.
    each = np.array([sample_utility(np.array([1.0, 2.0, 2.0])), sample_utility(np.array([4.0]))])
    assert set_utility(each) == pytest.approx(np.sqrt(43))
    assert set_utility(np.empty(0)) == 0
    assert set_utility(np.zeros(3)) == 0
    assert set_utility(np.array([3e200, 4e200])) == pytest.approx(5e200)


@pytest.mark.parametrize("size", range(6))
def test_the_best_set_is_the_best_of_all_sets(size):
    each = stream(size, "utilities").uniform(0, 5, 5)
    brute = max(np.sqrt(sum(u * u for u in some)) for some in combinations(each, size))
    assert best_set_utility(each, size) == pytest.approx(brute)
    assert best_set_utility(each, 9) == pytest.approx(np.sqrt((each**2).sum()))


def test_standardised_by_hand():
    # Mean 4, squared differences 9, 1, 1, 9: deviation sqrt 5.
    np.testing.assert_allclose(standardised(np.array([1.0, 3, 5, 7])), np.array([-3, -1, 1, 3]) / np.sqrt(5))
    np.testing.assert_allclose(standardised(np.array([0.5e308, 1.5e308])), [-1, 1])
    for equal in ([0.1, 0.1, 0.1], [0.0, 0.0], [7.0], []):
        assert standardised(np.array(equal)).tolist() == [0.0] * len(equal)


def test_bad_values_are_refused():
    for sizes, losses, name in ((-1.0, 1.0, "num_examples"), (1.0, np.nan, "loss_rms"), (1.0, -1.0, "loss_rms")):
        with pytest.raises(InputError, match=name):
            client_utility(np.array([sizes]), np.array([losses]))
    with pytest.raises(InputError, match="-1 clients"):
        best_set_utility(np.ones(3), -1)
    assert np.isfinite(client_utility(np.array([1e12]), np.array([1e300]))).all()
