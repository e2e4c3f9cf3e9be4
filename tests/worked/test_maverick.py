"""Mavericks found where they were planted, and nowhere else."""

import numpy as np
import pytest

from callup.analytics.maverick import find
from callup.core.errors import InputError
from callup.core.randomness import stream
from callup.partition.scheme import PARTITIONS

LABELS = np.repeat(np.arange(10), 900)


def planted(spec):
    shards = PARTITIONS.make(spec).split(LABELS, 10, stream(0, "partition"))
    return shards.label_counts(LABELS, 10)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_exclusive_mavericks_are_found_with_their_class(count):
    found = find(planted(f"mavericks:clients=50,count={count}"))
    assert [(m.client, m.label, m.kind, m.share, m.group) for m in found] == [
        (i, i, "exclusive", 1.0, (i,)) for i in range(count)
    ]
    # One of 50 equal parts of the classes that all hold; of what the other Mavericks own, nothing.
    assert all(m.elsewhere == pytest.approx(18 * (10 - count) / 8100) for m in found)


@pytest.mark.parametrize("count", [2, 3])
def test_shared_mavericks_are_found_with_their_group(count):
    found = find(planted(f"mavericks:clients=50,count={count},kind=shared,owned=4"))
    assert {m.client for m in found} == set(range(count))
    for m in found:
        assert (m.label, m.kind, m.group) == (4, "shared", tuple(range(count)))
        assert m.share == pytest.approx(1 / count)
        assert m.elsewhere == pytest.approx(1 / 50)


def test_more_owners_than_a_few_are_no_mavericks():
    counts = planted("mavericks:clients=50,count=4,kind=shared")
    assert find(counts) == []
    assert len(find(counts, few=4)) == 4


@pytest.mark.parametrize("spec", ["iid:clients=50", "dirichlet:clients=50,alpha=5"])
def test_none_where_none_was_planted(spec):
    assert find(planted(spec)) == []


def test_almost_all_is_enough():
    # Client 0 has 60 of 100 samples of class 0 and a tenth of class 1.
    counts = np.array([[60, 10], *[[40 / 9, 10]] * 9])
    (only,) = find(counts)
    assert (only.client, only.label, only.kind) == (0, 0, "exclusive")
    assert (only.share, only.elsewhere) == pytest.approx((0.6, 0.1))
    # Half of a class is not more than half, and the other half is spread over nine.
    assert find(np.array([[50, 10], *[[50 / 9, 10]] * 9])) == []
    # Two hold 45 of 100 each, eight the rest.
    pair = find(np.array([[45, 10], [45, 10], *[[10 / 8, 10]] * 8]))
    assert [(m.client, m.kind, m.group) for m in pair] == [(0, "shared", (0, 1)), (1, "shared", (0, 1))]


def test_a_client_that_is_merely_large_is_no_maverick():
    # Nine tenths of every class; and 60 % of one class against 40 % of the rest.
    assert find(np.array([[90, 90, 90], [5, 5, 5], [5, 5, 5]])) == []
    assert find(np.array([[60, 40], [20, 30], [20, 30]])) == []


def test_equal_holders_are_all_in_or_all_out():
    # 50, 30, 10 would do for class 0, but there is a second one with 10: four owners are more than three.
    counts = np.array([[50, 1], [30, 1], [10, 1], [10, 1], [0, 96]])
    assert {(m.client, m.label) for m in find(counts)} == {(4, 1)}
    assert {(m.client, m.label) for m in find(counts, few=4)} == {(0, 0), (1, 0), (2, 0), (3, 0), (4, 1)}


def test_one_class_for_each_client():
    # Everybody owns one: the end of the scale the paper names.
    assert [(m.client, m.label) for m in find(np.eye(4) * 7)] == [(i, i) for i in range(4)]


def test_ids_name_the_clients():
    (only,) = find(np.array([[5, 0], [5, 20], [5, 0]]), ids=np.array([70, 90, 80]))
    assert (only.client, only.group) == (90, (90,))


def test_nothing_to_tell_apart():
    assert find(np.array([[5], [0], [1]])) == []  # one class
    assert find(np.zeros((3, 4))) == []
    assert find(np.zeros((0, 4))) == []
    assert [m.label for m in find(np.array([[5, 0, 3], [5, 0, 0]]))] == [2]  # class 1 does not exist
    with pytest.raises(InputError, match=r"shape \(clients, classes\), got \(3,\)"):
        find(np.array([1, 2, 3]))
