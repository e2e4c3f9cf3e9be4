"""The Dirichlet schemes: sizes by arithmetic, skew by the moments of the distribution."""

import numpy as np
import pytest

from callup.analytics.qcid import qcid_each
from callup.core.errors import InputError, UsageError
from callup.core.randomness import stream
from callup.partition.dirichlet import draw_while_they_last
from callup.partition.scheme import PARTITIONS

BALANCED = np.repeat(np.arange(10), 600)


def split(spec, labels=BALANCED, seed=0, classes=10):
    shards = PARTITIONS.make(spec).split(labels, classes, stream(seed, "partition"))
    return shards, shards.label_counts(labels, classes)


def test_dirichlet_sizes_are_equal_and_nothing_is_given_twice():
    shards, counts = split("dirichlet:clients=70,alpha=0.1")
    assert (shards.sizes == 6000 // 70).all()
    assert len(np.unique(np.concatenate(shards.rows))) == 70 * 85
    assert (counts.sum(axis=0) <= 600).all()


def test_dirichlet_uses_everything_that_divides():
    _, counts = split("dirichlet:clients=60,alpha=0.1")
    np.testing.assert_array_equal(counts.sum(axis=0), np.full(10, 600))


def test_dirichlet_samples_sets_the_size():
    shards, _ = split("dirichlet:clients=60,samples=7")
    assert (shards.sizes == 7).all()


@pytest.mark.parametrize(("concentration", "precision"), [("total", 0.5), ("per_component", 5.0)])
def test_dirichlet_skew_is_that_of_the_distribution(concentration, precision):
    # For q ~ Dir(a * 1_10): sum_b Var(q_b) = (1 - 1/10) / (1 + 10a), where 10a is alpha for "total" and 10 alpha for
    # "per_component"; s draws by q add (1 - E sum q^2)/s.
    size, by_mix = 400, 0.9 / (1 + precision)
    expected = by_mix + (0.9 - by_mix) / size
    spec = f"dirichlet:clients=2000,alpha=0.5,samples={size},reuse=true,concentration={concentration}"
    each = qcid_each(split(spec)[1])
    # 2,000 independent clients: five standard errors, wrong once in two million seeds.
    assert abs(each.mean() - expected) < 5 * each.std() / np.sqrt(len(each))
    assert 5 * each.std() / np.sqrt(len(each)) < 0.1 * expected


def test_dirichlet_prior_is_the_class_shares_of_the_data():
    labels = np.repeat([0, 1, 2], [8000, 1500, 500])
    _, counts = split("dirichlet:clients=3000,alpha=2,samples=50,reuse=true", labels, classes=3)
    shares = counts / 50
    # E q = prior; five standard errors for each of three classes, wrong once in 500,000 seeds.
    wrong = np.abs(shares.mean(axis=0) - [0.8, 0.15, 0.05])
    assert (wrong < 5 * shares.std(axis=0) / np.sqrt(3000)).all()


def test_serving_order_falls_on_nobody_by_name():
    """Who is served last gets leftovers; over many partitions the first and the last ids fare the same."""
    gaps = []
    for seed in range(60):
        each = qcid_each(split("dirichlet:clients=60,alpha=0.1", seed=seed)[1])
        gaps.append(each[:15].mean() - each[-15:].mean())
    # Five standard errors: wrong once in two million seeds. Served in the order of ids, the gap is above twenty.
    assert abs(np.mean(gaps)) < 5 * np.std(gaps) / np.sqrt(len(gaps))


def test_a_class_that_runs_out_passes_its_draws_on():
    rng = stream(0, "left")
    # All of the mix is class 0, of which there are two.
    np.testing.assert_array_equal(draw_while_they_last(np.array([1.0, 0.0]), 3, np.array([2, 4]), rng), [2, 1])
    np.testing.assert_array_equal(draw_while_they_last(np.array([0.5, 0.5]), 6, np.array([2, 4]), rng), [2, 4])


def test_draws_follow_the_law_of_one_sample_after_the_other():
    # Half and half, three draws, one sample of class 0: it stays only if all three draws say class 1, 1/8.
    rng = stream(1, "left")
    kept = [draw_while_they_last(np.array([0.5, 0.5]), 3, np.array([1, 5]), rng)[0] == 0 for _ in range(4000)]
    # Five standard errors of a share of 1/8 in 4,000: wrong once in two million seeds.
    assert abs(np.mean(kept) - 1 / 8) < 5 * np.sqrt(7 / 64 / 4000)


def test_reuse_walks_a_class_round_and_round():
    labels = np.repeat([0, 1], [10, 10])
    shards, counts = split("dirichlet:clients=40,samples=25,reuse=true", labels, classes=2)
    held = np.bincount(np.concatenate(shards.rows), minlength=20)
    for label in (0, 1):
        # Whole laps give every sample of the class the same number of times, the last lap once more at most.
        laps = counts[:, label].sum() // 10
        assert set(held[labels == label]) <= {laps, laps + 1}


def test_balanced_uses_every_sample_once_at_near_even_sizes():
    labels = np.repeat(np.arange(10), 5000)
    shards, counts = split("dirichlet-balanced:clients=200,alpha=0.1", labels)
    np.testing.assert_array_equal(np.sort(np.concatenate(shards.rows)), np.arange(50_000))
    np.testing.assert_array_equal(counts.sum(axis=0), np.full(10, 5000))
    assert 100 < shards.sizes.min() < 250 < shards.sizes.max() < 500


def test_balanced_follows_the_totals_of_lopsided_data():
    labels = np.repeat(np.arange(10), np.arange(100, 1100, 100))
    _, counts = split("dirichlet-balanced:clients=50,alpha=1", labels)
    np.testing.assert_array_equal(counts.sum(axis=0), np.arange(100, 1100, 100))


def test_balanced_spreads_leftovers_over_everyone():
    labels = np.repeat([0, 1], 30)
    sizes = np.stack([split("dirichlet-balanced:clients=20,alpha=50", labels, seed, 2)[0].sizes for seed in range(200)])
    # Rounding down leaves about a third of 60 samples. By symmetry every client holds three on average; six standard
    # errors for twenty clients: wrong once in twenty million seeds.
    error = sizes.std(axis=0).max() / np.sqrt(200)
    assert np.abs(sizes.mean(axis=0) - 3).max() < 6 * error < 0.7


def test_balanced_says_when_no_sizes_fit():
    with pytest.raises(UsageError, match=r"in 100 draws no sizes of 3 clients at alpha=0.1 .* use more clients"):
        split("dirichlet-balanced:clients=3")


def test_client_dirichlet_breaks_each_class_by_its_own_draw():
    labels = np.repeat(np.arange(100), 400)
    shards, counts = split("client-dirichlet:clients=20,alpha=0.5", labels, classes=100)
    np.testing.assert_array_equal(np.sort(np.concatenate(shards.rows)), np.arange(40_000))
    # E sum_k share_k^2 = (a + 1)/(K a + 1) for Dir_K(a): 1.5/11. The square sum has a standard deviation of 0.039, so
    # five standard errors over 100 classes are 0.0195 (wrong once in two million seeds).
    squares = ((counts / 400) ** 2).sum(axis=0)
    assert abs(squares.mean() - 1.5 / 11) < 0.0195


def test_client_dirichlet_leaves_nobody_empty():
    labels = np.repeat(np.arange(3), 100)
    shards, _ = split("client-dirichlet:clients=250,alpha=0.01", labels, classes=3)
    assert shards.sizes.min() == 1
    assert shards.sizes.sum() == 300


@pytest.mark.parametrize(
    ("preset", "odd", "even"),
    [
        # E 0.9/(1 + 10 beta) for beta uniform on (a, b): 0.9 ln((1 + 10b)/(1 + 10a)) / (10 (b - a))
        ("low", 0.9 * np.log(3) / 2, 0.9 * np.log(31 / 3) / 28),
        ("high", 0.9 * np.log(2) / 1, 0.9 * np.log(51 / 2) / 49),
    ],
)
def test_layered_halves_have_the_skew_of_their_layer(preset, odd, even):
    labels = np.repeat(np.arange(10), 500)
    shards, counts = split(f"layered-dirichlet:{preset},clients=3000,samples=500", labels)
    assert (shards.sizes == 500).all()
    each = qcid_each(counts)
    for half, expected in ((each[1::2], odd), (each[0::2], even)):
        # Five standard errors and 1 % for rounding counts down: wrong less than once in two million seeds.
        assert abs(half.mean() - expected) < 5 * half.std() / np.sqrt(1500) + 0.01 * expected


def test_layered_published_means():
    """Mean over both halves: .285 low, .342 high, as computed from the definition."""
    assert (0.9 * np.log(3) / 2 + 0.9 * np.log(31 / 3) / 28) / 2 == pytest.approx(0.285, abs=5e-4)
    labels = np.repeat(np.arange(10), 5000)
    for preset, expected in (("low", 0.285), ("high", 0.342)):
        means = [qcid_each(split(f"layered-dirichlet:{preset}", labels, seed)[1]).mean() for seed in range(8)]
        # 1,600 clients with a standard deviation of 0.3: five standard errors are 0.0375.
        assert abs(np.mean(means) - expected) < 0.0375


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("dirichlet:alpha=0", UsageError, "dirichlet: alpha must be a finite number above 0, got 0"),
        ("dirichlet:alpha=inf", UsageError, "dirichlet: alpha must be a finite number above 0, got inf"),
        ("dirichlet:clients=0", UsageError, "dirichlet: clients must be a whole number of at least 1, got 0"),
        ("dirichlet:samples=0", UsageError, "dirichlet: samples must be a whole number of at least 1, got 0"),
        ("dirichlet:clients=10,samples=601", InputError, "10 clients of 601 samples need 6,010, there are 6,000"),
        ("dirichlet:clients=6001", InputError, "6,001 clients cannot share 6,000 samples; use at most 6,000 clients"),
        (
            "dirichlet-balanced:alpha=-1",
            UsageError,
            "dirichlet-balanced: alpha must be a finite number above 0, got -1",
        ),
        ("client-dirichlet:alpha=0", UsageError, "client-dirichlet: alpha must be a finite number above 0, got 0"),
        ("layered-dirichlet:x_med=4", UsageError, "x_med must lie between 1e-05 and x_max=3, got 4"),
        ("layered-dirichlet:samples=0", UsageError, "layered-dirichlet: samples must be a whole number of at least 1"),
    ],
)
def test_unusable_parameters_are_named(spec, error, message):
    with pytest.raises(error, match=message):
        split(spec)
