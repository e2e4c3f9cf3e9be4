"""k-means on cases with one answer, against its definitions, and the law of its seeds."""

from collections import Counter

import numpy as np
import pytest

from callup import stream
from callup.analytics.kmeans import _assigned, kmeans, nearest
from callup.core.errors import InputError

THREE = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])


def blobs(rows_each, seed=0):
    rng = stream(seed, "blobs")
    kind = rng.permutation(np.repeat([0, 1, 2], rows_each))
    return THREE[kind] + rng.uniform(-1, 1, (3 * rows_each, 2)), kind


@pytest.mark.parametrize("rows_each", [4, 500])  # all rows; a sample of 192 of 1,500
@pytest.mark.parametrize("seed", range(5))
def test_three_heaps_are_found(rows_each, seed):
    rows, kind = blobs(rows_each)
    labels, centres = kmeans(rows, 3, stream(seed, "seeds"))
    # k-means++ takes two seeds from one heap with probability about 1/100 each; these seeds do not.
    assert len(set(zip(labels.tolist(), kind.tolist(), strict=True))) == 3
    assert np.abs(centres[labels] - THREE[kind]).max() < 1


@pytest.mark.parametrize("seed", range(3))
def test_it_ends_with_nearest_centres_that_are_means(seed):
    rows = stream(seed, "rows").normal(size=(80, 3))
    labels, centres = kmeans(rows, 6, stream(seed, "seeds"), iterations=200)
    apart = np.square(rows[:, None] - centres[None]).sum(axis=2)
    np.testing.assert_array_equal(labels, apart.argmin(axis=1))
    np.testing.assert_array_equal(labels, nearest(rows, centres))
    for group in range(6):
        # Rounded to 2^-20 of the largest entry, below 4 here.
        np.testing.assert_allclose(centres[group], rows[labels == group].mean(axis=0), atol=4 * 2.0**-20)


@pytest.mark.parametrize("different", [1, 2, 5])
def test_no_group_is_empty_and_equal_rows_are_one(different):
    rows = stream(0, "few").normal(size=(different, 4))[np.arange(50) % different]
    labels, centres = kmeans(rows, 8, stream(0, "seeds"))
    assert len(centres) == different
    assert sorted(set(labels.tolist())) == list(range(different))
    assert len({(label, *row) for label, row in zip(labels.tolist(), rows.tolist(), strict=True)}) == different


def test_as_many_groups_as_rows():
    labels, _ = kmeans(np.arange(6.0)[:, None], 10, stream(0, "seeds"))
    assert sorted(labels.tolist()) == list(range(6))


def test_rare_rows_are_found_when_the_sample_misses_them():
    # Only three different rows among 100,000; a sample of 192 hardly ever holds one of the five rare ones.
    rows = np.zeros((100_000, 1))
    rows[[7, 50_000, 99_000]], rows[[123, 456]] = 1.0, -1.0
    labels, centres = kmeans(rows, 3, stream(0, "seeds"))
    assert sorted(centres[:, 0].tolist()) == [-1, 0, 1]
    np.testing.assert_array_equal(centres[labels], rows)


def test_a_centre_that_nobody_is_near_takes_the_row_farthest_from_its_own():
    assert _assigned(np.array([[0.0], [1.0], [3.0]]), np.array([[0.0], [100.0]])).tolist() == [0, 0, 1]


def test_nothing_hangs_on_the_order_in_which_numbers_are_added():
    # Other orders of the columns: plain float sums would differ in their last bits and some near ties with them.
    rows = stream(0, "bits").integers(0, 2, (2_000, 64)) * 2.0 - 1
    first = kmeans(rows, 20, stream(0, "seeds"))
    for seed in range(3):
        order = stream(seed, "columns").permutation(64)
        other = kmeans(rows[:, order], 20, stream(0, "seeds"))
        np.testing.assert_array_equal(first.labels, other.labels)
        np.testing.assert_array_equal(first.centres[:, order], other.centres)


def test_all_is_counted_in_whole_units():
    # The largest entry lies between 1 and 2, so the unit is 2^-19: differences far below it are none.
    assert len(kmeans(np.array([[1.5], [1.5 + 1e-7], [0.0]]), 3, stream(0, "s")).centres) == 2
    rows = stream(0, "whole").uniform(-1.9, 1.9, (100, 3))
    units = kmeans(rows, 7, stream(0, "s")).centres * 2.0**19
    np.testing.assert_array_equal(units, np.rint(units))


@pytest.mark.parametrize("scale", [2.0**-1000, 2.0**-40, 2.0**900])
def test_a_power_of_two_changes_nothing_and_no_number_is_too_large(scale):
    rows, _ = blobs(20)
    plain, scaled = kmeans(rows, 5, stream(1, "s")), kmeans(rows * scale, 5, stream(1, "s"))
    if scale > 2.0**-900:  # the tiniest lose their last bits
        np.testing.assert_array_equal(plain.labels, scaled.labels)
    assert len(scaled.centres) == 5


def test_seeds_are_drawn_by_squared_distance():
    # Rows 0, 1, 3 on a line, two seeds. The first is uniform; then squared distances decide:
    #   from 0: 1 and 9; from 1: 1 and 4; from 3: 9 and 4.
    expected = {
        (0, 1): (1 / 10 + 1 / 5) / 3,
        (0, 3): (9 / 10 + 9 / 13) / 3,
        (1, 3): (4 / 5 + 4 / 13) / 3,
    }
    assert sum(expected.values()) == pytest.approx(1)
    rng, n = stream(0, "law"), 3000
    rows = np.array([[0.0], [1.0], [3.0]])
    seen = Counter(
        tuple(sorted(kmeans(rows, 2, rng, iterations=0).centres[:, 0].astype(int).tolist())) for _ in range(n)
    )
    # Chi-square with 2 degrees of freedom exceeds 27.6 once in 1e6.
    assert sum((seen[pair] - n * p) ** 2 / (n * p) for pair, p in expected.items()) < 27.6


def test_same_generator_same_groups():
    rows = stream(0, "same").normal(size=(300, 5))
    a, b = kmeans(rows, 9, stream(3, "s")), kmeans(rows, 9, stream(3, "s"))
    np.testing.assert_array_equal(a.labels, b.labels)
    np.testing.assert_array_equal(a.centres, b.centres)


@pytest.mark.parametrize(
    ("rows", "groups", "message"),
    [
        (np.empty((0, 2)), 2, "at least one row"),
        (np.array([[np.nan]]), 1, "finite numbers"),
        (np.zeros(3), 1, r"shape \(3,\)"),
        (np.zeros((3, 1)), 0, "at least one group, got 0"),
    ],
)
def test_what_cannot_be_is_named(rows, groups, message):
    with pytest.raises(InputError, match=message):
        kmeans(rows, groups, stream(0, "s"))
