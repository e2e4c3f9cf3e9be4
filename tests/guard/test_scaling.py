"""Robust scales: clipped numbers, shortened rows, believed claims, tamed features."""

from __future__ import annotations

import numpy as np
import pytest

from callup.core.clients import Clients
from callup.guard.claims import believed, size_factor
from callup.guard.features import tamed
from callup.guard.scaling import clipped, lengths, limits, shortened


def test_limits_by_hand() -> None:
    # Median 3, distances 2 1 0 1 97: their median is 1.
    low, high = limits(np.array([1.0, 2.0, 3.0, 4.0, 100.0]), reach=2)
    assert (low, high) == pytest.approx((3 - 2 * 1.4826, 3 + 2 * 1.4826))


def test_too_few_values_set_no_limits() -> None:
    assert limits(np.array([1.0, 1e30]), 3) == (-np.inf, np.inf)
    assert limits(np.array([1.0, np.nan, 1e30]), 3) == (-np.inf, np.inf)


def test_where_most_are_equal_the_others_set_the_scale() -> None:
    # Median 0, distances that are not 0: 1, 2, 1e30; their median is 2.
    assert limits(np.array([0.0] * 5 + [1.0, -2.0, 1e30]), 1)[1] == pytest.approx(2 * 1.4826)
    assert limits(np.zeros(5), 3) == (0.0, 0.0)


def test_one_enormous_value_keeps_the_order_of_the_others() -> None:
    values = np.array([0.3, 1e30, 0.1, 0.25, 0.2, np.nan])
    seen = clipped(values, values, 5)
    assert seen[[0, 2, 3, 4]].tolist() == [0.3, 0.1, 0.25, 0.2]
    assert seen[1] < 2
    assert np.isnan(seen[5])


def test_rows_keep_their_direction() -> None:
    rows = np.array([[3.0, 4.0], [0.0, 5.0], [6.0, 0.0], [4e30, 3e30]])
    seen = shortened(rows, lengths(rows), 3)
    assert np.array_equal(seen[:3], rows[:3])
    assert seen[3] / lengths(seen)[3] == pytest.approx([0.8, 0.6])
    assert lengths(seen)[3] < 10


def test_lengths_do_not_overflow() -> None:
    assert lengths(np.array([[3e200, 4e200], [0.0, 0.0]])) == pytest.approx([5e200, 0])
    assert lengths(np.ones((5, 600_000), np.float32)) == pytest.approx(np.sqrt(600_000))  # more than one block


def test_claims_above_ten_medians_are_scaled_down_with_their_histograms() -> None:
    counts = np.array([[50.0, 50.0], [90.0, 10.0], [0.0, 100.0], [30_000.0, 10_000.0]])
    claimed = Clients(range(4), label_counts=counts)
    seen = believed(claimed, size_reach=10, feature_reach=3)
    assert seen.all("num_examples").tolist() == [100, 100, 100, 1000]
    assert seen.all("label_counts")[3].tolist() == [750, 250]
    assert np.array_equal(seen.all("label_counts")[:3], counts[:3])


def test_an_honest_maverick_is_seen_as_it_is() -> None:
    # The paper's setting: 49 clients with 1,080 samples, one exclusive Maverick with 7,080.
    sizes = np.array([1080.0] * 49 + [7080.0])
    assert (size_factor(Clients(range(50), num_examples=sizes), 10) == 1).all()


def test_inner_products_of_counts_are_scaled_on_both_sides() -> None:
    counts = np.array([[10.0, 0.0], [0.0, 10.0], [6.0, 8.0], [6000.0, 8000.0]])
    seen = believed(Clients(range(4), label_gram=counts @ counts.T), 10, 3)
    smaller = counts * np.array([1, 1, 1, 0.01])[:, None]
    assert seen.all("label_gram") == pytest.approx(smaller @ smaller.T)


def test_nobody_has_data() -> None:
    assert size_factor(Clients(range(3), num_examples=np.zeros(3)), 10).tolist() == [1, 1, 1]


def test_features_are_pulled_in_column_by_column() -> None:
    features = np.array([[0.0, 5.0], [1.0, 6.0], [2.0, 7.0], [3.0, 8.0], [1e6, 6.5]])
    seen = tamed(features.copy(), 3)
    assert np.array_equal(seen[:4], features[:4])
    assert seen[4].tolist() == pytest.approx([2 + 3 * 1.4826, 6.5])


def test_fingerprints_stay_bits_and_outliers_give_up_the_surest_bits() -> None:
    bits = np.zeros((9, 8))
    bits[1, 0] = bits[2, 1] = bits[3, 0] = bits[4, 1] = 1
    bits[8] = [1, 1, 1, 1, 1, 1, 1, 1]
    # Odd bits: 0 1 1 1 1 0 0 0 8; median 1, distances 1 0 0 0 0 1 1 1 7, median 1: up to 1 + 3 * 1.4826 = 5 are usual.
    seen = tamed(bits.copy(), 3)
    assert np.isin(seen, (0, 1)).all()
    assert np.array_equal(seen[:8], bits[:8])
    # Columns 0 and 1 are the least agreed upon, so they are among the five it keeps.
    assert seen[8].sum() == 5
    assert seen[8, :2].tolist() == [1, 1]


def test_numbers_among_fingerprints_are_read_as_bits() -> None:
    bits = (np.arange(40).reshape(10, 4) % 3 == 0).astype(float)
    bits[0] = [1e6, -4.0, 0.2, 7.0]
    assert np.isin(tamed(bits, 3), (0, 1)).all()
