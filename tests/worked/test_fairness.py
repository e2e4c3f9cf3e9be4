"""Jain, Gini and Lorenz on cases with known answers and against their definitions."""

import numpy as np
import pytest

from callup.analytics.fairness import gini, jain, lorenz
from callup.core.errors import InputError
from callup.core.randomness import stream


def test_all_equal():
    calls = np.full(7, 3)
    assert jain(calls) == pytest.approx(1)
    assert gini(calls) == pytest.approx(0)
    np.testing.assert_allclose(lorenz(calls)[1], np.arange(8) / 7)


def test_one_takes_all():
    calls = np.array([0, 0, 12, 0, 0])
    assert jain(calls) == pytest.approx(1 / 5)
    assert gini(calls) == pytest.approx(4 / 5)
    np.testing.assert_array_equal(lorenz(calls)[1], [0, 0, 0, 0, 0, 1])


def test_by_hand():
    calls = np.array([2, 1, 3])
    assert jain(calls) == pytest.approx(36 / (3 * 14))
    # Differences of all ordered pairs: 2 * (1 + 1 + 2) = 8; 8 / (2 * 9 * 2) = 2/9
    assert gini(calls) == pytest.approx(2 / 9)
    clients, share = lorenz(calls)
    np.testing.assert_allclose(clients, [0, 1 / 3, 2 / 3, 1])
    np.testing.assert_allclose(share, [0, 1 / 6, 3 / 6, 1])


@pytest.mark.parametrize("seed", range(4))
def test_gini_is_its_definition_and_twice_the_area_above_lorenz(seed):
    calls = stream(seed, "calls").integers(0, 30, 23)
    pairs = np.abs(calls[:, None] - calls[None, :]).mean()
    assert gini(calls) == pytest.approx(pairs / (2 * calls.mean()))
    clients, share = lorenz(calls)
    area = ((share[1:] + share[:-1]) / 2 * np.diff(clients)).sum()
    assert gini(calls) == pytest.approx(1 - 2 * area)


def test_nobody_called_yet():
    assert np.isnan(jain(np.zeros(4)))
    assert np.isnan(gini(np.zeros(4)))
    clients, share = lorenz(np.zeros(4))
    assert clients[-1] == 1
    assert np.isnan(share).all()


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (np.zeros((2, 2)), r"one number for each client, got shape \(2, 2\)"),
        (np.empty(0), r"one number for each client, got shape \(0,\)"),
        (np.array([1, -2]), "not negative, got -2"),
        (np.array([1, np.nan]), "must be finite and not negative, got nan"),
    ],
)
def test_unusable_counts_are_named(broken, message):
    for measure in (jain, gini, lorenz):
        with pytest.raises(InputError, match=message):
            measure(broken)
