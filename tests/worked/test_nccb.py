"""NCCB by hand: a bandit with two clients, the exploring phase, counters, and what is learned from which reward."""

from collections import Counter

import numpy as np
import pytest

from callup import Clients, Feedback, Plan, Round, selector, stream
from callup.analytics.regret import utility_regret
from callup.core.errors import InputError, UsageError
from callup.core.verify import ask

KINDS = np.array(
    [[1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1], [1, 0, 1, 0, 1, 0, 1, 0], [0, 1, 0, 1, 0, 1, 0, 1]]
)
# Twelve clients of four kinds that differ in at least four bits of eight.
TWELVE = Clients(np.arange(12), features=KINDS[np.arange(12) % 4], num_examples=np.full(12, 10))


def started(spec, clients=TWELVE, k=2, seed=0):
    made = selector(spec)
    made.start(clients, Plan(k=k), stream(seed, "start"))
    return made


def asked(nccb, k, index=1, clients=TWELVE, available=None, seed=0):
    return ask(nccb, Round(index, clients.ids if available is None else available, clients, stream(seed, index)), k)


def told(nccb, ids, losses, index=1, clients=TWELVE, **more):
    nccb.update(Feedback(index, np.asarray(ids), {"loss_rms": np.asarray(losses, float)}, clients, **more))


def calls_by_kind(nccb):
    """Ct of the cluster that holds each of the four kinds."""
    return nccb.calls_[nccb.cluster_.get(np.arange(4))].tolist()


# --- two clients and a network of width 2 ---

TWO = Clients([4, 9], features=[[0.6, 0.8], [0.8, -0.6]], num_examples=[10, 20])


def two_clients(**settings):
    """W_1 = (1 0 0 0; 0 0 1 0), W_2 = (3, -3): each half looks at the first number alone, and f is 0."""
    words = ",".join(f"{key}={value}" for key, value in settings.items())
    nccb = started(f"nccb:width=2,ridge=0.5,gamma=2,explore=0,rate=0.01,steps=1,{words}".rstrip(","), TWO)
    nccb.theta_ = np.array([1.0, 0, 0, 0, 0, 0, 1, 0, 3, -3])
    nccb.first_theta_ = nccb.theta_.copy()
    return nccb


def plain(theta, x):
    """f and its gradient for width 2, number by number; x is one context, not doubled."""
    inputs = [x[0] / 2**0.5, x[1] / 2**0.5, x[0] / 2**0.5, x[1] / 2**0.5]
    before = [sum(w * v for w, v in zip(theta[4 * i : 4 * i + 4], inputs, strict=True)) for i in (0, 1)]
    after = [max(b, 0.0) for b in before]
    first = [2**0.5 * theta[8 + i] * (before[i] > 0) * v for i in (0, 1) for v in inputs]
    return 2**0.5 * (theta[8] * after[0] + theta[9] * after[1]), np.array([*first, *(2**0.5 * a for a in after)])


def test_first_bounds_by_hand():
    # Client 4: both units see 0.6 / sqrt 2, so g is (0.6, 0.6) for W_2 and +-3 (0.6, 0.8, 0.6, 0.8) for a row of W_1.
    # |g|^2 = 2 * 0.36 + 2 * 9 * 2 = 36.72; bonus = 2 sqrt(36.72 / 0.5 / 2). Client 9 the same with 0.8: 37.28.
    cohort = asked(two_clients(), 2, clients=TWO)
    order = np.argsort(cohort.ids)
    np.testing.assert_allclose(cohort.scores["estimate"], 0, atol=1e-12)
    np.testing.assert_allclose(cohort.scores["bonus"][order], [2 * np.sqrt(36.72), 2 * np.sqrt(37.28)], rtol=1e-12)
    assert cohort.notes == {"clusters": 2, "unexplored": 2}


def test_one_round_of_two_clients_by_hand():
    # Rewards 10 * 0.3 = 3 and 20 * 0.05 = 1 have mean 2 and deviation 1: standardised +1 and -1.
    nccb = two_clients()
    start, x = nccb.theta_.copy(), TWO.all("features")
    (_, g4), (_, g9) = plain(start, x[0]), plain(start, x[1])
    told(nccb, [9, 4], [0.05, 0.3], clients=TWO)
    # One step of rate / 2 along sum (r - f) g, with f = 0; nothing pulls back at theta_0.
    moved = start + 0.005 * (g4 - g9)
    np.testing.assert_allclose(nccb.theta_, moved, rtol=1e-12)
    # Z at the parameters that chose: 0.5 + (g4^2 + g9^2) / 2.
    z = 0.5 + (g4**2 + g9**2) / 2
    cohort = asked(nccb, 2, 2, TWO)
    for i, client in enumerate(cohort.ids.tolist()):
        f, g = plain(moved, x[[4, 9].index(client)])
        assert cohort.scores["estimate"][i] == pytest.approx(f, rel=1e-12)
        assert cohort.scores["bonus"][i] == pytest.approx(2 * np.sqrt((g**2 / z).sum() / 2), rel=1e-12)
    assert not cohort.scores["exploring"].any()
    assert cohort.ids[0] == 4  # it was worth more


def test_full_z_of_two_clients_by_hand():
    nccb = two_clients(z="full")
    gradients = [plain(nccb.theta_, row)[1] for row in TWO.all("features")]
    told(nccb, [4, 9], [1.0, 0.5], clients=TWO)  # both rewards are 10: standardised to 0, nothing is learned
    z = 0.5 * np.eye(10) + sum(np.outer(g, g) for g in gradients) / 2
    cohort = asked(nccb, 2, 2, TWO)
    expected = {i: 2 * np.sqrt(g @ np.linalg.inv(z) @ g / 2) for i, g in zip((4, 9), gradients, strict=True)}
    np.testing.assert_allclose(cohort.scores["bonus"], [expected[i] for i in cohort.ids.tolist()], rtol=1e-9)


def test_training_after_each_reward():
    # Utilities 10, 20, 60 of clients 0, 1, 2. After each: (0), (-1, 1), and (-4, -2, 6)/sqrt(56/3). Three trainings,
    # the first of which finds nothing to do; one training a round goes a single step.
    rows = np.array([[0.6, 0.8], [0.8, -0.6], [1.0, 0.0]])
    clients = Clients([0, 1, 2], features=rows, num_examples=[10, 10, 10])
    nccb = started("nccb:width=2,ridge=0.5,rate=0.01,steps=1,per_reward=true", clients)
    start = np.array([1.0, 0, 0, 0, 0, 0, 1, 0, 0.1, -0.1])
    nccb.theta_, nccb.first_theta_ = start.copy(), start.copy()
    told(nccb, [2, 0, 1], [6.0, 1.0, 2.0], clients=clients)
    theta = start
    for rewards in ([-1, 1], np.array([-4, -2, 6]) / np.sqrt(56 / 3)):
        slope = 2 * 0.5 * (theta - start)  # w lambda (theta - theta_0)
        for row, reward in zip(rows, rewards, strict=False):
            f, g = plain(theta, row)
            slope = slope + (f - reward) * g
        theta = theta - 0.01 / len(rewards) * slope
    np.testing.assert_allclose(nccb.theta_, theta, rtol=1e-12)


# --- exploring ---


@pytest.mark.parametrize("explore", [0, 2])
def test_every_cluster_is_explored_k_plus_1_times_before_bounds_decide(explore):
    nccb = started(f"nccb:explore={explore},clusters=4")
    rounds = 4 * (explore + 1) // 2  # two of four clusters a round
    for index in range(1, rounds + 1):
        cohort = asked(nccb, 2, index)
        assert cohort.scores["exploring"].all()
        assert len(set((cohort.ids % 4).tolist())) == 2  # one from each cluster
        told(nccb, cohort.ids, [1.0, 2.0], index)
        assert max(calls_by_kind(nccb)) <= explore + 1
    assert calls_by_kind(nccb) == [explore + 1] * 4
    cohort = asked(nccb, 2, rounds + 1)
    assert not cohort.scores["exploring"].any()
    assert cohort.notes["unexplored"] == 0
    told(nccb, cohort.ids, [1.0, 2.0], rounds + 1)
    assert sum(calls_by_kind(nccb)) == 4 * (explore + 1) + 2  # choices by bound count as well


def test_clusters_and_their_clients_are_drawn_uniformly():
    nccb = started("nccb:clusters=4")
    nccb.calls_[nccb.cluster_.get(np.array([3]))] = 99  # three of four clusters are open, nine of twelve clients
    seen = Counter(int(i) for seed in range(1500) for i in asked(nccb, 1, seed=seed).ids)
    assert set(seen) == {i for i in range(12) if i % 4 != 3}
    # Nine clients: chi-square with 8 degrees of freedom exceeds 42.7 once in 1e6.
    assert sum((n - 1500 / 9) ** 2 / (1500 / 9) for n in seen.values()) < 42.7


def test_when_few_clusters_are_open_the_rest_go_to_the_highest_bounds():
    nccb = started("nccb:clusters=4,gamma=0", k=4)
    for index in range(1, 4):
        told(nccb, [0, 1, 2, 3], [4.0, 1.0, 2.0, 3.0], index)
    nccb.calls_[:] = 6
    nccb.calls_[nccb.cluster_.get(np.array([1]))] = 5  # Ct <= 5 is open
    for seed in range(10):
        cohort = asked(nccb, 4, 9, seed=seed)
        assert cohort.scores["exploring"].tolist() == [1, 0, 0, 0]
        assert cohort.ids[0] % 4 == 1  # kind 1, although its reward is the lowest
        assert sorted(cohort.ids[1:].tolist()) == [0, 4, 8]  # kind 0 has the highest reward
    assert cohort.notes["unexplored"] == 1


def test_the_bound_is_the_sum_of_estimate_and_bonus():
    rng = stream(0, "bound")
    clients = Clients(np.arange(30), features=rng.integers(0, 2, (30, 8)), num_examples=np.full(30, 10))
    nccb = started("nccb:gamma=1", clients, 5)
    nccb.calls_[:] = 99
    for index in range(1, 5):
        told(nccb, rng.choice(30, 5, replace=False), rng.uniform(0, 2, 5), index, clients)
    nccb.calls_[:] = 99
    everyone = asked(nccb, 30, 9, clients)
    bound = everyone.scores["estimate"] + everyone.scores["bonus"]
    assert (np.diff(bound) <= 1e-9).all()
    assert sorted(np.argsort(-everyone.scores["estimate"])[:5].tolist()) != [0, 1, 2, 3, 4]  # the bonus matters
    assert set(asked(nccb, 5, 9, clients).ids.tolist()) == set(everyone.ids[:5].tolist())


def test_a_cluster_without_anybody_online_is_passed_over():
    nccb = started("nccb:clusters=4", k=3)
    online = np.array([0, 4, 1, 2, 6])  # nobody of kind 3
    for seed in range(10):
        cohort = asked(nccb, 3, available=online, seed=seed)
        assert cohort.scores["exploring"].all()
        assert sorted((cohort.ids % 4).tolist()) == [0, 1, 2]
        assert cohort.notes["unexplored"] == 3


def test_everyone_called_counts_but_only_reports_teach():
    nccb = started("nccb:clusters=4")
    told(nccb, [0], [1.0], failed={1: "no reply", 5: "not needed"})
    assert calls_by_kind(nccb) == [1, 2, 0, 0]
    assert nccb.seen_.tolist() == [0] and nccb.rewards_.tolist() == [10.0]
    z = nccb.z_.copy()
    nccb.update(Feedback(2, np.empty(0, np.int64), {}, TWELVE, failed={2: "no reply"}))
    assert calls_by_kind(nccb) == [1, 2, 1, 0]
    np.testing.assert_array_equal(nccb.z_, z)


def test_number_of_clusters():
    rng = stream(0, "many")
    clients = Clients(np.arange(100), features=rng.integers(0, 2, (100, 16)), num_examples=np.ones(100))
    for spec, k, expected in (("nccb", 5, 10), ("nccb", 25, 25), ("nccb:clusters=7", 25, 7)):
        nccb = started(spec, clients, k)
        assert len(nccb.centres_) == len(nccb.calls_) == expected
        assert sorted(set(nccb.cluster_.get(clients.ids).tolist())) == list(range(expected))
    assert len(started("nccb", TWELVE, 9).centres_) == 4  # there are no more than four kinds


# --- rewards and memory ---


def test_rewards_are_standardised_so_their_unit_does_not_matter():
    # 1024 times as many samples: every utility is 1024 times as large, exactly.
    large = Clients(np.arange(12), features=TWELVE.all("features"), num_examples=np.full(12, 10 * 1024))
    small, big = started("nccb"), started("nccb", large)
    for index in range(1, 4):
        for nccb, clients in ((small, TWELVE), (big, large)):
            told(nccb, [0, 1, 2], [1.0, 0.5, index], index, clients)
    np.testing.assert_array_equal(small.theta_, big.theta_)
    assert (small.theta_ != small.first_theta_).any()
    assert big.rewards_.tolist() == [1024 * r for r in small.rewards_.tolist()]


def test_estimates_follow_rewards():
    nccb = started("nccb:clusters=4,ridge=0.001", k=4)
    for index in range(1, 30):
        told(nccb, [0, 1, 2, 3], [4.0, 1.0, 2.0, 3.0], index)
    everyone = asked(nccb, 12, 30)
    estimate = dict(zip(everyone.ids.tolist(), everyone.scores["estimate"].tolist(), strict=True))
    # Standardised: (4, 1, 2, 3) has mean 2.5 and deviation sqrt(1.25); clients of the same kind are foretold the same.
    for client in range(12):
        expected = ([4.0, 1.0, 2.0, 3.0][client % 4] - 2.5) / np.sqrt(1.25)
        assert estimate[client] == pytest.approx(expected, abs=0.1)


def test_memory_keeps_the_last_rewards_alone():
    long, short = started("nccb"), started("nccb:memory=3")
    for index, client in enumerate([0, 1, 2, 3, 0], start=1):
        for nccb in (long, short):
            told(nccb, [client], [float(index)], index)
    assert long.seen_.tolist() == [0, 1, 2, 3, 0] and long.rewards_.tolist() == [10, 20, 30, 40, 50]
    assert short.seen_.tolist() == [2, 3, 0] and short.rewards_.tolist() == [30, 40, 50]
    full = started("nccb:memory=3,z=full")
    for index in range(1, 4):
        told(full, [0, 1], [1.0, 2.0], index)
    assert len(full.z_) == 3


def test_it_finds_who_teaches_most():
    """Ten kinds of clients whose utilities differ: regret (Eq. 4) a quarter of random selection's."""
    rng = stream(0, "world")
    kind = rng.integers(10, size=100)
    prints = rng.integers(0, 2, (10, 32))[kind] ^ (rng.random((100, 32)) < 0.1)
    worth = rng.uniform(0.2, 2, 10)[kind] * 20
    clients = Clients(np.arange(100), features=prints, num_examples=np.full(100, 20))
    lost = {}
    for spec in ("random", "nccb:explore=0"):
        made, rounds = started(spec, clients, 5), []
        for index in range(1, 41):
            chosen = asked(made, 5, index, clients).ids
            rounds.append((worth, np.isin(clients.ids, chosen)))
            noise = stream(index, "noise").uniform(0.8, 1.2, 100)
            told(made, chosen, (worth / 20 * noise)[chosen], index, clients)
        lost[spec] = utility_regret(rounds)[-1]
    assert lost["nccb:explore=0"] < 0.25 * lost["random"]


# --- who joins, who is refused ---


def test_a_newcomer_joins_the_nearest_cluster_and_nothing_else_moves():
    nccb = started("nccb:clusters=4,explore=0")
    told(nccb, [0, 1], [1.0, 2.0])
    centres, theta, cluster = nccb.centres_.copy(), nccb.theta_.copy(), nccb.cluster_.get(np.arange(4))
    bits = KINDS[[2, 2, 1]].copy()
    bits[0, 0] = 0  # one bit away from kind 2, at least three from the others
    grown = Clients([0, 3, 50, 60, 70], features=np.vstack([KINDS[[0, 3]], bits]), num_examples=np.ones(5))
    nccb.roster(grown, stream(0, "roster"))
    assert nccb.cluster_.get(np.array([50, 60, 70])).tolist() == cluster[[2, 2, 1]].tolist()
    assert nccb.cluster_.get(np.array([0, 3])).tolist() == cluster[[0, 3]].tolist()
    np.testing.assert_array_equal(nccb.centres_, centres)
    np.testing.assert_array_equal(nccb.theta_, theta)
    # Kinds 0 and 1 were called once; of those here, 3 and the two of kind 2 are unexplored.
    cohort = asked(nccb, 2, 2, grown)
    assert 3 in cohort.ids and len({50, 60} & set(cohort.ids.tolist())) == 1
    # The rewards of clients that left are still learned from.
    told(nccb, [50], [3.0], 2, grown)
    assert nccb.seen_.tolist() == [0, 1, 50]


def test_features_must_keep_their_length():
    nccb = started("nccb")
    other = Clients([0, 99], features=np.ones((2, 5)), num_examples=[1, 1])
    with pytest.raises(InputError, match="features had 8 numbers when the run began, now 5"):
        nccb.roster(other, stream(0, "roster"))
    with pytest.raises(InputError, match="at least one number"):
        started("nccb", Clients([0], features=np.ones((1, 0)), num_examples=[1]))


def test_full_z_refuses_what_would_take_too_long():
    clients = Clients(np.arange(2001), features=np.ones((2001, 2)), num_examples=np.ones(2001))
    with pytest.raises(InputError, match="nccb is made for up to 2,000 clients, this federation has 2,001"):
        asked(started("nccb:z=full", clients), 5, clients=clients)
    assert len(asked(started("nccb", clients), 5, clients=clients).ids) == 5


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("nccb:explore=-1", "explore must not be negative, got -1"),
        ("nccb:memory=-1", "memory must not be negative, got -1"),
        ("nccb:gamma=-0.1", "gamma must not be negative and must be finite, got -0.1"),
        ("nccb:ridge=0", "ridge must be above 0 and finite, got 0"),
        ("nccb:rate=inf", "rate must be above 0 and finite, got inf"),
        ("nccb:width=5", "width must be an even number of at least 2, got 5"),
        ("nccb:layers=1", "layers must be at least 2, got 1"),
        ("nccb:z=half", "'diag' or 'full', got 'half'"),
    ],
)
def test_bad_parameters_are_named(spec, message):
    with pytest.raises(UsageError, match=message):
        selector(spec)
