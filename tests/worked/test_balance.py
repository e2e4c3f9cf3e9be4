"""How many clients are enough, and what no method can go below: closed forms against enumeration."""

from itertools import combinations, product

import numpy as np
import pytest

from callup.analytics.balance import (
    drawn_law,
    enough_clients,
    expected_missing,
    least_mean_qcid,
    least_qcid_missing,
    mean_qcid,
)
from callup.analytics.qcid import expected_qcid_single_class, qcid
from callup.core.errors import InputError, UsageError


@pytest.mark.parametrize("missing", [1, 2, 3])
def test_data_that_lacks_classes(missing):
    # Every way to spread 12 samples over four classes, so many of them empty; 12 divides by 3, 2 and 1.
    ways = [c for c in product(range(13), repeat=4) if sum(c) == 12 and c.count(0) == missing]
    least = min(sum((x / 12 - 1 / 4) ** 2 for x in c) for c in ways)
    assert least_qcid_missing(4, missing) == pytest.approx(least, abs=1e-15)
    assert least > 1 / 4**2  # Appendix D.3


def test_nothing_missing_and_too_much_missing():
    assert least_qcid_missing(10, 0) == 0
    assert least_qcid_missing(10) == pytest.approx(1 / 90)
    with pytest.raises(UsageError, match="from 0 to 9 of 10 classes can be missing, got 10"):
        least_qcid_missing(10, 10)


def test_random_selection_needs_63_clients_of_200():
    # 20 clients for each of ten classes: the mean QCID of n is 0.9/n (200-n)/199, below 0.01 once 180 < 2.89 n.
    def mean(n):
        return expected_qcid_single_class(np.full(10, 20), n)

    assert enough_clients(mean, classes=10, most=200) == 63
    assert mean(62) > 0.01 > mean(63)
    assert enough_clients(mean, classes=10, most=62) is None


def test_never_fewer_clients_than_classes():
    asked = []
    assert enough_clients(lambda m: asked.append(m) or 0.0, classes=10, most=50) == 10
    assert asked == [10]


def test_fed_cbs_needs_fewer_than_random_selection():
    # Three clients for each of three classes; 1/B^2 = 1/9. Random: 2/3 / 3 * 6/8 = 1/6 for three clients and
    # 2/3 / 4 * 5/8 = 5/48 for four.
    counts = np.repeat(np.eye(3), 3, axis=0) * 8
    assert enough_clients(lambda m: expected_qcid_single_class(np.full(3, 3), m), 3, 9) == 4
    assert enough_clients(lambda m: mean_qcid(counts, drawn_law(counts, m)), 3, 9) == 3


def test_expected_missing_by_enumeration():
    holders = [3, 2, 1]
    owner = np.repeat(np.arange(3), holders)
    for available in range(7):
        ways = list(combinations(owner, available))
        missing = sum(3 - len(set(way)) for way in ways) / len(ways)
        assert expected_missing(np.array(holders), available) == pytest.approx(missing)
    with pytest.raises(InputError, match="cannot draw 7 of 6 clients"):
        expected_missing(np.array(holders), 7)


@pytest.mark.parametrize(
    ("holders", "times_100"),
    [([18] * 5 + [6] * 5, 1.12), ([16] * 5 + [8] * 5, 0.54), ([20] * 5 + [4] * 5, 2.35)],
)
def test_the_bound_of_case_1(holders, times_100):
    # 120 clients of one class each, 36 of them available, ten to choose.
    assert round(100 * least_mean_qcid(np.array(holders), 36), 2) == times_100


@pytest.mark.parametrize(("holders", "available"), [([3, 1, 1], 4), ([2, 2, 1, 1], 5), ([3, 3, 3], 4), ([4, 1, 1], 3)])
def test_the_best_choice_stays_above_the_bound(holders, available):
    # For every set of available clients the best cohort, found by trying all.
    owner = np.repeat(np.eye(len(holders)), holders, axis=0)
    best = [
        min(qcid(owner[list(cohort)]) for cohort in combinations(here, len(holders)))
        for here in combinations(range(len(owner)), available)
    ]
    bound = least_mean_qcid(np.array(holders), available)
    assert np.mean(best) >= bound - 1e-15
    # With at most one class missing and doubles to spare the bound is met.
    if holders == [3, 3, 3]:
        assert np.mean(best) == pytest.approx(bound)
        assert bound > 0


def test_bad_input_is_named():
    with pytest.raises(UsageError, match="cannot choose 3 of 2 clients"):
        drawn_law(np.eye(2), 3)
    with pytest.raises(UsageError, match="m must be a whole number of at least 1, got 0"):
        drawn_law(np.eye(2), 0)
    with pytest.raises(UsageError, match="60 clients form more than 100,000 cohorts of 10; use fewer"):
        drawn_law(np.ones((60, 2)), 10)
    with pytest.raises(InputError, match="at least one sample"):
        drawn_law(np.array([[1, 0], [0, 0]]), 1)
