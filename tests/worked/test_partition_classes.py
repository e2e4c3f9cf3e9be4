"""Schemes that deal out whole classes: every count follows by arithmetic."""

import numpy as np
import pytest

from callup.core.errors import InputError, UsageError
from callup.core.randomness import stream
from callup.partition.one_two_class import pair
from callup.partition.pools import places
from callup.partition.scheme import PARTITIONS

FASHION = np.repeat(np.arange(10), 6000)
CIFAR = np.repeat(np.arange(10), 5000)


def counts_of(spec, labels, classes=10, seed=0):
    shards = PARTITIONS.make(spec).split(labels, classes, stream(seed, "partition"))
    rows = np.concatenate(shards.rows)
    assert len(np.unique(rows)) == len(rows)
    return shards.label_counts(labels, classes)


def clients_per_class(counts):
    return (counts > 0).sum(axis=0).tolist()


def test_iid_sizes_differ_by_one_at_most():
    sizes = counts_of("iid:clients=7", CIFAR[:100]).sum(axis=1)
    assert sorted(sizes) == [14] * 5 + [15] * 2


def test_iid_clients_look_like_the_whole():
    counts = counts_of("iid:clients=10", CIFAR)
    # 500 expected in each of 100 cells, standard deviation below 22.4: six of them, wrong once in five million seeds.
    assert np.abs(counts - 500).max() < 6 * 22.4


def test_shards_as_mcmahan():
    # 60,000 sorted samples in 200 shards of 300: twenty to a class, so no shard crosses a border.
    counts = counts_of("shards", FASHION)
    assert (counts.sum(axis=1) == 600).all()
    assert set(counts.ravel()) <= {0, 300, 600}
    np.testing.assert_array_equal(counts.sum(axis=0), np.full(10, 6000))
    assert (counts == 300).any(axis=1).sum() > 50


@pytest.mark.parametrize(
    ("spec", "clients", "size"),
    [
        ("case1", [18] * 5 + [6] * 5, 5000 // 18),
        ("case1:ratio=5", [20] * 5 + [4] * 5, 250),
        ("case1:ratio=1", [12] * 10, 5000 // 12),
        ("case1:as_published", [16] * 5 + [8] * 5, 5000 // 16),
        ("case2", [20] * 10, 250),
    ],
)
def test_single_class_cases(spec, clients, size):
    counts = counts_of(spec, CIFAR)
    assert clients_per_class(counts) == clients
    assert (counts.max(axis=1) == size).all()
    assert (counts.sum(axis=1) == size).all()


@pytest.mark.parametrize(
    ("spec", "clients", "part"),
    [
        ("one-two-class", [10] * 10, 600),
        ("one-two-class:each=2", [20] * 10, 300),
        # Cut for 200 clients, 100 kept: the parts are half as large.
        ("one-two-class:ratio=3", [15] * 5 + [5] * 5, 300),
        ("one-two-class:ratio=3,each=2", [30] * 5 + [10] * 5, 150),
    ],
)
def test_figure_1(spec, clients, part):
    counts = counts_of(spec, FASHION)
    assert clients_per_class(counts) == clients
    assert set(counts.ravel()) == {0, part}
    each = 2 if "each=2" in spec else 1
    assert ((counts > 0).sum(axis=1) == each).all()


@pytest.mark.parametrize("seed", range(30))
def test_pairs_never_twin_and_lose_nobody(seed):
    rng = stream(seed, "pairs")
    # One label fills exactly half of the seats: the hardest case that can be paired.
    others = rng.integers(1, 4, 20)
    seats = np.concatenate([np.zeros(20, np.int64), others])
    hands = pair(seats, rng)
    assert (hands[:, 0] != hands[:, 1]).all()
    np.testing.assert_array_equal(np.sort(hands.ravel()), np.sort(seats))


def test_pairs_mix_freely():
    counts = counts_of("one-two-class:each=2", FASHION)
    met = {tuple(np.flatnonzero(row)) for row in counts}
    # 100 random pairs show 41 of the 45 kinds, with a standard deviation of 1.6; a rotation of classes shows five.
    assert len(met) > 30


def test_places_give_the_first_half_more():
    assert places(60, 10, 5, "x").tolist() == [10] * 5 + [2] * 5
    assert places(14, 3, 3, "x").tolist() == [6, 6, 2]


@pytest.mark.parametrize(
    ("spec", "size", "maverick"),
    [
        # Nine classes of 6,000 over 50 clients: 9 * 120 = 1,080; and a whole, a half or a third of the tenth.
        ("mavericks", 1080, [7080]),
        ("mavericks:count=2,kind=shared", 1080, [4080] * 2),
        ("mavericks:count=3,kind=shared", 1080, [3080] * 3),
        # Two and three exclusive ones leave eight and seven classes to all.
        ("mavericks:count=2", 960, [6960] * 2),
        ("mavericks:count=3", 840, [6840] * 3),
    ],
)
def test_maverick_sizes_on_fashion_mnist(spec, size, maverick):
    sizes = counts_of(spec, FASHION).sum(axis=1)
    assert sizes[: len(maverick)].tolist() == maverick
    assert (sizes[len(maverick) :] == size).all()


def test_mavericks_own_their_class_alone():
    counts = counts_of("mavericks:count=3,owned=7/0/4", FASHION)
    for client, label in enumerate((7, 0, 4)):
        assert counts[client, label] == 6000
        assert counts[:, label].sum() == 6000
    shared = counts_of("mavericks:count=2,kind=shared,owned=5", FASHION)
    assert shared[:, 5].tolist() == [3000, 3000] + [0] * 48


def test_mavericks_spread_what_does_not_divide():
    labels = np.repeat([0, 1, 2], [10, 23, 24])
    sizes = counts_of("mavericks:clients=10", labels, classes=3).sum(axis=1)
    # 47 samples of two classes over ten clients: four or five each, and client 0 has ten more.
    assert sizes[0] in (14, 15)
    assert set(sizes[1:]) <= {4, 5}


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("iid:clients=50001", InputError, "50,001 clients cannot share 50,000 samples"),
        ("shards:clients=30000", InputError, "60,000 clients cannot share 50,000 samples"),
        ("shards:each=0", UsageError, "shards: each must be a whole number of at least 1, got 0"),
        (
            "case1:clients=110",
            UsageError,
            "case1: clients: 110 cannot be split 3:1 over 10 classes; use a multiple of 20",
        ),
        ("case2:clients=15", UsageError, "case2: clients: 15 cannot be split 1:1 over 10 classes"),
        ("case2:clients=100000", InputError, "class 0 has 5000 samples for 10000 clients; use fewer clients"),
        ("case1:ratio=0", UsageError, "case1: ratio must be a whole number of at least 1, got 0"),
        ("one-two-class:each=3", UsageError, "each must be 1 or 2, got '3'"),
        ("one-two-class:ratio=5", UsageError, "100 cannot be split 5:1 over 10 classes; use a multiple of 30"),
        ("mavericks:clients=2,count=3", UsageError, "3 Mavericks among 2 clients"),
        ("mavericks:count=2,owned=3", UsageError, "2 exclusive Mavericks own one class each, but owned names 1"),
        ("mavericks:count=2,owned=3/3", UsageError, "owned names a class twice: 3/3"),
        ("mavericks:owned=10", InputError, "owned classes 10 must be some, not all, of 0 to 9"),
        ("mavericks:count=10", InputError, "must be some, not all, of 0 to 9"),
    ],
)
def test_unusable_parameters_are_named(spec, error, message):
    with pytest.raises(error, match=message):
        PARTITIONS.make(spec).split(CIFAR, 10, stream(0, "partition"))


def test_two_classes_at_three_to_one_cannot_be_paired():
    with pytest.raises(InputError, match="clients of two classes each cannot be had 3:1 from 2 classes"):
        counts_of("one-two-class:each=2,ratio=3,clients=4", np.repeat([0, 1], 100), classes=2)
