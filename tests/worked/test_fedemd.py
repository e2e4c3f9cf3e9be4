"""FedEMD: distances by hand, and the Maverick's chances along a run."""

import math

import numpy as np
import pytest

from callup import Clients, Feedback, Plan, Round, selector, stream
from callup.analytics.emd import distances
from callup.core.errors import UsageError


def started(spec, clients, k=1):
    made = selector(spec)
    made.start(clients, Plan(k=k), stream(0, "start"))
    return made


def at(index, clients, available=None):
    return Round(index, clients.ids if available is None else available, clients, stream(0, "r", index))


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        # Target (6, 3, 3): shares 1/2, 1/4, 1/4. Client (8, 0, 0): shares 1, 0, 0. Client (1, 1, 2): 1/4, 1/4, 1/2.
        ("tv", [(1 / 2 + 1 / 4 + 1 / 4) / 2, (1 / 4 + 0 + 1 / 4) / 2]),
        ("l1", [1, 1 / 2]),
        # Sums from the left: 1/2, 3/4, 1 against 1, 1, 1 and 1/4, 1/2, 1.
        ("ordinal", [1 / 2 + 1 / 4, 1 / 4 + 1 / 4]),
        # In units of class 0, sorted: (.5, .5, 1) against (0, 0, 1) and (1, 1, 2); mean differences.
        ("sorted_counts", [1 / 3, (1 / 2 + 1 / 2 + 1) / 3]),
    ],
)
def test_distances_by_hand(metric, expected):
    np.testing.assert_allclose(distances([6, 3, 3], [[8, 0, 0], [1, 1, 2]], metric), expected, atol=1e-15)


def test_minmax_and_the_printed_normalisation():
    target, clients = [6, 3, 3], [[8, 0, 0], [1, 1, 2], [2, 1, 1]]
    # tv is 1/2, 1/4, 0: scaled to 1, 1/2, 0.
    np.testing.assert_allclose(distances(target, clients, "tv", "minmax"), [1, 0.5, 0], atol=1e-15)
    np.testing.assert_array_equal(distances(target, clients[:1] * 3, "tv", "minmax"), [0, 0, 0])
    # Raw counts: |6-8|+3+3 = 8, 5+2+1 = 8, 4+2+2 = 8; class 2 has 0, 2, 1 samples, 1 on average.
    np.testing.assert_allclose(distances(target, clients, "l1", "ref_class", reference=2), [8, 8, 8])
    # The mean of class 0 is 11/3.
    np.testing.assert_allclose(distances(target, clients, "l1", "ref_class", reference=0), [24 / 11] * 3)


def test_three_clients_by_hand():
    # Clients (4,0), (0,4), (2,2); together (6,6). TV from it: 1/2, 1/2, 0.
    clients = Clients([10, 20, 30], label_counts=[[4, 0], [0, 4], [2, 2]])
    fedemd = started("fedemd:beta=0.1", clients)
    e = math.exp
    first = np.array([e(0.5), e(0.5), 1])
    np.testing.assert_allclose(fedemd.probabilities(at(1, clients)), first / first.sum(), rtol=1e-12)
    # Client 10 is selected: seen (4,0), from which they are 0, 1, 1/2 away. Round 2: e_g - 2 * 0.1 * e_c.
    fedemd.update(Feedback(1, np.array([10]), {}, clients))
    second = np.array([e(0.5 - 0), e(0.5 - 0.2), e(0 - 0.1)])
    np.testing.assert_allclose(fedemd.probabilities(at(2, clients)), second / second.sum(), rtol=1e-12)
    # Client 20 is selected and does not reply; it counts as seen all the same: (4,4), distances 1/2, 1/2, 0.
    fedemd.update(Feedback(2, np.empty(0, np.int64), {}, clients, failed={20: "no reply"}))
    third = np.array([e(0.5 - 0.3 * 0.5), e(0.5 - 0.3 * 0.5), 1])
    np.testing.assert_allclose(fedemd.probabilities(at(3, clients)), third / third.sum(), rtol=1e-12)
    # Only 20 and 30 are here: the global distance still rests on all three.
    two = fedemd.probabilities(at(3, clients, np.array([30, 20])))
    np.testing.assert_allclose(two, third[1:] / third[1:].sum(), rtol=1e-12)


def test_the_global_distribution_weighs_clients_by_size():
    # (6,0) and (0,2) make (6,2): shares 3/4 and 1/4, so the clients are 1/4 and 3/4 away.
    clients = Clients([1, 2], label_counts=[[6, 0], [0, 2]])
    cohort = started("fedemd", clients).select(at(1, clients), 2)
    assert dict(zip(cohort.ids.tolist(), cohort.scores["emd_global"].tolist(), strict=True)) == {1: 0.25, 2: 0.75}
    assert cohort.scores["emd_seen"].tolist() == [0, 0]


def test_clients_are_drawn_with_these_probabilities_and_say_so():
    clients = Clients([10, 20, 30], label_counts=[[40, 0, 0], [0, 20, 20], [10, 15, 15]])
    fedemd = started("fedemd:metric=ordinal", clients)
    now, n, counts = at(1, clients), 4000, dict.fromkeys([10, 20, 30], 0)
    chances = dict(zip([10, 20, 30], fedemd.probabilities(now), strict=True))
    for _ in range(n):
        cohort = fedemd.select(now, 1)
        counts[int(cohort.ids[0])] += 1
        assert cohort.scores["probability"][0] == chances[int(cohort.ids[0])]
    # Chi-square with 2 degrees of freedom exceeds 27.63 once in 1e6.
    assert sum((counts[i] - n * chances[i]) ** 2 / (n * chances[i]) for i in counts) < 27.63


def test_a_client_without_samples_comes_last():
    clients = Clients([1, 2, 3], label_counts=[[5, 0], [0, 0], [0, 5]])
    fedemd = started("fedemd", clients)
    assert fedemd.probabilities(at(1, clients)).tolist() == [0.5, 0.0, 0.5]
    assert all(fedemd.select(at(i, clients), 3).ids[2] == 2 for i in range(1, 20))
    assert fedemd.select(at(1, clients, np.array([2])), 1).ids.tolist() == [2]


def test_the_reference_class_is_one_that_most_clients_hold():
    clients = Clients([1, 2, 3], label_counts=[[9, 1, 0, 2], [0, 1, 0, 2], [0, 1, 5, 2]])
    drawn = set()
    for seed in range(30):
        fedemd = selector("fedemd:metric=sorted_counts")
        fedemd.start(clients, Plan(k=1), stream(seed, "start"))
        drawn.add(fedemd.reference_)
    assert drawn == {1, 3}  # one of the two is missed by all 30 seeds with a chance of 2^-29


# One exclusive Maverick of Fashion-MNIST: 50 clients share nine classes of 6000, client 0 has all of class 0.
N, K, ROUNDS = 50, 5, 200
COUNTS = np.full((N, 10), 120.0)
COUNTS[:, 0] = 0
COUNTS[0, 0] = 6000
MAVERICK = Clients(np.arange(N), label_counts=COUNTS)


def chance_by_hand(seen, t, beta):
    """p(Maverick) from Eq. 14 in plain numbers: 49 clients are alike."""
    size = COUNTS[0].sum()
    shares = {"maverick": COUNTS[0] / size, "other": COUNTS[1] / COUNTS[1].sum()}
    power = {}
    for who, q in shares.items():
        e_g = sum(abs(x - 0.1) for x in q) / 2
        e_c = sum(abs(x - y) for x, y in zip(q, seen / seen.sum(), strict=True)) / 2 if seen.any() else 0.0
        power[who] = math.exp(e_g - t * beta * e_c)
    return power["maverick"] / (power["maverick"] + (N - 1) * power["other"])


def trajectory(beta, seed, more=""):
    """p(Maverick) in each round of one run of the selector."""
    fedemd = started(f"fedemd:beta={beta}{more}", MAVERICK, K)
    chances = []
    for t in range(1, ROUNDS + 1):
        now = Round(t, MAVERICK.ids, MAVERICK, stream(seed, "select", t))
        cohort = fedemd.select(now, K)
        chances.append(fedemd.probabilities(now)[0])
        if not more:
            assert chances[-1] == pytest.approx(chance_by_hand(fedemd.seen_, t, beta), rel=1e-9)
        fedemd.update(Feedback(t, cohort.ids, {}, MAVERICK))
    return np.array(chances)


def test_first_round_of_the_maverick():
    # TV: (6000/7080 - 0.1) = 0.74746 for the Maverick, 0.1 for the others: e^0.64746 / (49 + e^0.64746)
    odds = math.exp(6000 / 7080 - 0.2)
    now = Round(1, MAVERICK.ids, MAVERICK, stream(0, "r"))
    chance = started("fedemd", MAVERICK).probabilities(now)[0]
    assert chance == pytest.approx(odds / (49 + odds), rel=1e-12)
    assert round(chance, 4) == 0.0375


@pytest.mark.parametrize(("beta", "mean"), [(0.008, 0.0245), (0.01, 0.0221), (0.1, 0.0029)])
def test_the_maverick_is_favoured_early_and_avoided_later(beta, mean):
    # Means of ten runs. One run's mean varies by 0.0009 around its expectation (60 other seeds), so ten runs by
    # 0.0003; the reference figures are means of runs too and lie up to 0.0004 from it. 0.0016 leaves 4 standard
    # errors: once in 1e4.
    runs = np.array([trajectory(beta, seed) for seed in range(10)])
    assert runs.mean() == pytest.approx(mean, abs=0.0016)
    if beta == 0.01:
        # The values of rounds 50, 100, 200 vary by 0.0011 in one run, 0.00035 in the mean of ten, and the reference
        # ones lie up to 0.0006 from their expectation: again 4 standard errors.
        expected = [0.0375, 0.0289, 0.0211, 0.0107]
        np.testing.assert_allclose(runs.mean(axis=0)[[0, 49, 99, 199]], expected, atol=0.002)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        # Scaled to 0..1 every metric puts the Maverick at 1 and the others at 0, or the reverse, so nothing varies.
        (",norm=minmax", [0.0526, 0.0326, 0.0200, 0.0075]),
        (",norm=minmax,metric=sorted_counts", [0.0526, 0.0326, 0.0200, 0.0075]),
        (",norm=ref_class", [0, 0, 0, 0]),
    ],
)
def test_other_readings_of_the_text(more, expected):
    chances = trajectory(0.01, 0, more)[[0, 49, 99, 199]]
    np.testing.assert_allclose(chances, expected, atol=0.00006)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("fedemd:beta=-0.1", "beta must not be negative and must be finite, got -0.1"),
        ("fedemd:beta=inf", "beta must not be negative and must be finite, got inf"),
        ("fedemd:metric=cosine", "metric must be 'tv' or 'l1' or 'ordinal' or 'sorted_counts', got 'cosine'"),
    ],
)
def test_bad_parameters_are_named(spec, message):
    with pytest.raises(UsageError, match=message):
        selector(spec)
