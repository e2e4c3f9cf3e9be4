"""Regret of NCCB's and FedACS's Eq. 4 on rounds small enough to check by hand."""

from itertools import combinations

import numpy as np
import pytest

from callup import stream
from callup.analytics.regret import dueling_regret, noiseless_preference, preference, regret, utility_regret
from callup.core.errors import InputError


def test_cumulative():
    assert regret(np.array([5.0, 1.0]), np.array([5.0, 4.0])).tolist() == [0, 3]
    assert regret(np.empty(0), np.empty(0)).tolist() == []
    with pytest.raises(InputError, match=r"\(2,\) and \(3,\)"):
        regret(np.zeros(2), np.zeros(3))


def test_utility_regret_by_hand():
    # Round 1: utilities 3, 4, 12; chosen 3 and 4: 5 against sqrt(16 + 144). Round 2: the best pair: nothing lost.
    # Round 3: another federation, one place: 2 against 7.
    rounds = [
        (np.array([3.0, 4.0, 12.0]), np.array([True, True, False])),
        (np.array([3.0, 4.0, 12.0]), np.array([False, True, True])),
        (np.array([2.0, 7.0]), np.array([True, False])),
    ]
    first = np.sqrt(160) - 5
    np.testing.assert_allclose(utility_regret(rounds), [first, first, first + 5])


def test_utility_regret_is_never_negative_and_zero_for_the_best_set():
    utilities = stream(0, "u").uniform(0, 1, 6)
    lost = {}
    for some in combinations(range(6), 3):
        mask = np.isin(np.arange(6), some)
        lost[some] = float(utility_regret([(utilities, mask)])[0])
    best = tuple(sorted(np.argsort(utilities)[-3:].tolist()))
    assert lost.pop(best) == pytest.approx(0, abs=1e-15)
    assert min(lost.values()) > 0


def test_preference_is_how_often_the_least_skewed_wins():
    # Client 2 is the least skewed. Against client 0 it wins 3 of 4 rounds, against client 1 two and draws one.
    rewards = np.array([[1.0, 2, 3], [1, 3, 3], [5, 4, 3], [2, 1, 3]])
    np.testing.assert_allclose(preference(rewards, np.array([0.5, 0.2, 0.1])), [0.25, 2.5 / 4 - 0.5, 0])
    with pytest.raises(InputError, match="column"):
        preference(rewards, np.array([0.5, 0.2]))


def test_dueling_regret_by_hand():
    phi = noiseless_preference(np.array([0.3, 0.1, 0.9, 0.1]))
    assert phi.tolist() == [0.5, 0, 0.5, 0]
    chosen = [np.array([0, 2]), np.array([1, 3]), np.array([1, 0])]
    assert dueling_regret(chosen, phi).tolist() == [1, 1, 1.5]
    assert dueling_regret(chosen, np.array([0.2, 0, -0.1, 0.4])).tolist() == pytest.approx([0.1, 0.5, 0.7])


def test_nobody_does_better_than_the_least_skewed():
    skewness = stream(0, "skew").uniform(size=6)
    rewards = -skewness  # without noise the order of rewards is that of skewness
    np.testing.assert_array_equal(preference(rewards[None], skewness), noiseless_preference(skewness))
    phi = noiseless_preference(skewness)
    least = min(float(dueling_regret([np.array(some)], phi)[0]) for some in combinations(range(6), 3))
    assert least == 0.5 * 2  # all but the best of three
