"""How uneven a federation is, worked by hand, and what random draws miss, against every draw there is."""

import itertools
import math

import numpy as np
import pytest

from callup import Clients
from callup.analytics.reach import chance_missing, rounds_until_seen
from callup.analytics.unevenness import effective_classes, effective_holders, jensen_shannon, total_variation
from callup.core.errors import InputError, UsageError
from callup.simulation.unevenness_study import study

# All together: 12 of 0, 6 of 1, 6 of 2, shares 1/2, 1/4, 1/4.
COUNTS = np.array([[12, 0, 0], [0, 6, 0], [0, 0, 6], [0, 0, 0]])


def test_total_variation_by_hand():
    # Client 0: |1 - 1/2| + 1/4 + 1/4 = 1, half of it 1/2. Client 1: 1/2 + 3/4 + 1/4 = 3/2, half of it 3/4.
    np.testing.assert_allclose(total_variation(COUNTS), [0.5, 0.75, 0.75, np.nan])


def test_jensen_shannon_by_hand():
    # Client 0 has entropy 0, all together 1.5 bit; the mean of both, (3/4, 1/8, 1/8), -3/4 log2 3/4 + 1/4 * 3.
    middle = -0.75 * math.log2(0.75) + 0.75
    assert jensen_shannon(COUNTS)[0] == pytest.approx(middle - 0.75)
    # Nothing in common with the others, and few in number: nearly a whole bit.
    alone = np.array([[1, 0], [0, 10**9]])
    assert jensen_shannon(alone)[0] == pytest.approx(1.0, abs=1e-6)
    assert np.isnan(jensen_shannon(COUNTS)[3])


def test_effective_numbers_by_hand():
    np.testing.assert_allclose(effective_classes(np.array([[2, 2, 2], [4, 0, 0], [2, 1, 1]])), [3, 1, 2**1.5])
    np.testing.assert_allclose(effective_holders(np.array([[3, 0], [3, 8], [0, 0]])), [2, 1])


@pytest.mark.parametrize("bad", [np.zeros(3), np.zeros((0, 3)), np.zeros((3, 0))])
def test_a_table_is_needed(bad):
    with pytest.raises(InputError, match="shape"):
        total_variation(bad)


@pytest.mark.parametrize("k", [1, 3, 6, 7])
def test_misses_are_those_of_all_draws(k):
    n = 7
    for holders in range(n + 1):
        groups = list(itertools.combinations(range(n), k))
        without = sum(all(client >= holders for client in group) for group in groups) / len(groups)
        assert chance_missing(np.array(holders), n, k) == pytest.approx(without)


def test_rounds_until_seen():
    # One holder of 50, 5 a round: seen in a tenth of the rounds, in the tenth round in the mean.
    np.testing.assert_allclose(rounds_until_seen(np.array([0, 1, 50]), 50, 5), [np.inf, 10, 1])
    with pytest.raises(UsageError, match="k must be from 1 to the 50 clients"):
        chance_missing(np.array([1]), 50, 51)


def test_a_study_by_hand():
    clients = Clients([3, 5, 8, 9], label_counts=COUNTS)
    found = study(clients, k=3, seed=1)
    assert found.empty.tolist() == [9]
    assert found.typical_apart == 0.75
    # The best three hold everything: shares 1/2, 1/4, 1/4, (1/6)^2 + 2 (1/12)^2.
    assert found.best_qcid == pytest.approx(1 / 36 + 2 / 144)
    assert [(m.client, m.label) for m in found.mavericks] == [(3, 0), (5, 1), (8, 2)]
    view = found.classes[1]
    assert (view.samples, view.holders, view.largest, view.largest_share) == (6, 1, 5, 1.0)
    assert (view.missing, view.rounds) == pytest.approx((0.25, 4 / 3))
    # Three of four: without the empty one all, else two clients; never less even than the best.
    assert np.nanmin(found.random_qcid) == pytest.approx(found.best_qcid)
    assert len(found.random_qcid) == 500


def test_more_clients_a_round_than_there_are_is_everybody():
    assert study(Clients([1, 2], label_counts=[[1, 0], [0, 1]]), k=10).k == 2


def test_nobody_has_anything():
    with pytest.raises(InputError, match="none of the 2 clients has a sample"):
        study(Clients([1, 2], label_counts=[[0, 0], [0, 0]]), k=1)
