"""The balanced oracle: Figure 1 of Fed-CBS by hand, and other federations against every possible group."""

from itertools import combinations

import numpy as np
import pytest

from callup import Clients, Plan, Round, selector, stream
from callup.core.errors import UsageError


def chosen(clients, k, seed=0, spec="balanced", ids=None):
    made = selector(spec)
    made.start(clients, Plan(k=k), stream(0, "start"))
    return made.select(Round(1, clients.ids if ids is None else ids, clients, stream(seed, "balanced")), k)


def imbalance(counts):
    pooled = np.sum(counts, axis=0)
    return float(sum((x / pooled.sum() - 1 / len(pooled)) ** 2 for x in pooled))


def one_class(holders, samples=60):
    """Clients of one class each: `holders[b]` of them hold class b."""
    own = np.repeat(np.arange(len(holders)), holders)
    return Clients(np.arange(len(own)) + 100, label_counts=samples * np.eye(len(holders))[own]), own


@pytest.mark.parametrize("holders", [[10] * 10, [15] * 5 + [5] * 5], ids=["figure 1a", "figure 1c"])
def test_one_client_of_every_class(holders):
    clients, own = one_class(holders)
    times = np.zeros(len(own))
    for seed in range(200):
        cohort = chosen(clients, 10, seed)
        assert sorted(own[cohort.ids - 100].tolist()) == list(range(10))
        assert cohort.notes == {"qcid": 0.0}
        # Without any one of them nine classes have 1/9: 9 (1/9 - 1/10)^2 + 1/10^2 = 1/90.
        assert cohort.scores["qcid_without"] == pytest.approx(np.full(10, 1 / 90))
        times[cohort.ids - 100] += 1
    # Within a class all are alike: 200 draws over its holders. Each of 100 counts within 6 standard deviations and a
    # half: false alarm below 1e-5, the binomial's longer tail included.
    share = 1 / np.array(holders)[own]
    assert (np.abs(times - 200 * share) < 6 * np.sqrt(200 * share * (1 - share)) + 0.5).all()


@pytest.mark.parametrize("weights", [[1] * 10, [3] * 5 + [1] * 5], ids=["figure 1b", "figure 1d"])
def test_clients_of_two_classes(weights):
    # Each of 100 clients holds 30 samples of two classes, drawn from all or from classes that are 3 : 1 as frequent.
    rng, share = stream(0, "two classes"), np.array(weights) / sum(weights)
    counts = np.zeros((100, 10))
    for row in counts:
        row[rng.choice(10, 2, replace=False, p=share)] = 30
    clients = Clients(np.arange(100), label_counts=counts)
    # Ten clients can hold every class twice. The least imbalance above 0 is that of one class three times and one
    # once, 2 (1/20)^2 = 0.005: the worst the search may end with, and better than random groups.
    reached = [chosen(clients, 10, seed).notes["qcid"] for seed in range(20)]
    by_chance = [imbalance(counts[rng.choice(100, 10, replace=False)]) for _ in range(20)]
    assert max(reached) <= 0.005 + 1e-12
    assert np.median(reached) == 0
    assert min(by_chance) > 0.005


def test_as_even_as_the_clients_online_allow():
    clients, own = one_class([4] * 10)
    # Class 9 is away: one class comes twice. (2/10 - 1/10)^2 + (0 - 1/10)^2 = 0.02.
    cohort = chosen(clients, 10, ids=clients.ids[own < 9])
    assert cohort.notes["qcid"] == pytest.approx(0.02)
    assert set(own[cohort.ids - 100].tolist()) == set(range(9))
    # Twelve from ten classes: two classes twice. 2 (2/12 - 1/10)^2 + 8 (1/12 - 1/10)^2.
    cohort = chosen(clients, 12)
    assert cohort.notes["qcid"] == pytest.approx(2 / 225 + 8 / 3600)
    assert np.bincount(own[cohort.ids - 100]).max() == 2


@pytest.mark.parametrize("seed", range(10))
def test_against_every_group(seed):
    rng = stream(seed, "federation")
    counts = rng.integers(0, 40, (10, 4)) * rng.integers(0, 2, (10, 4))
    counts[:, 0] += 1
    clients = Clients(np.sort(rng.choice(1000, 10, replace=False)), label_counts=counts)
    every = {group: imbalance(counts[list(group)]) for group in combinations(range(10), 4)}
    cohort = chosen(clients, 4, seed)
    group = set(clients.index.rows(cohort.ids).tolist())
    assert cohort.notes["qcid"] == pytest.approx(every[tuple(sorted(group))])
    # No exchange of one member makes the group more even.
    neighbours = [value for other, value in every.items() if len(group & set(other)) == 3]
    assert min(neighbours) >= cohort.notes["qcid"] - 1e-12
    # From forty starts it finds the most even of all 210 groups.
    assert chosen(clients, 4, seed, "balanced:starts=40").notes["qcid"] == pytest.approx(min(every.values()))


def test_who_would_be_missed_most_comes_first():
    # Client 1 alone holds class 1; 2 and 3 are alike. Without 1: (1, 0) is 1/2; without 2 or 3 half of class 0 goes.
    clients = Clients([1, 2, 3], label_counts=[[0, 6], [3, 0], [3, 0]])
    cohort = chosen(clients, 3)
    assert cohort.ids[0] == 1
    assert cohort.scores["qcid_without"] == pytest.approx([1 / 2, 2 * (1 / 6) ** 2, 2 * (1 / 6) ** 2])
    assert chosen(clients, 1).scores["qcid_without"].tolist() == [0.5]


def test_a_client_without_samples_comes_last():
    # It would leave every group as even as it is, and so look like a fine choice.
    clients = Clients([1, 2, 3, 4], label_counts=[[0, 0], [9, 0], [0, 1], [0, 0]])
    for seed in range(20):
        assert set(chosen(clients, 2, seed).ids.tolist()) == {2, 3}
        assert set(chosen(clients, 3, seed).ids[:2].tolist()) == {2, 3}
    assert len(chosen(clients, 4).ids) == 4
    alone = chosen(clients, 1, ids=[4])
    assert alone.ids.tolist() == [4]
    assert alone.notes == {}


def test_groups_vary_from_round_to_round():
    rng = stream(3, "federation")
    clients = Clients(np.arange(60), label_counts=np.round(rng.dirichlet(np.full(10, 0.3), 60) * 100) + 1)
    cohorts = {tuple(sorted(chosen(clients, 10, seed).ids.tolist())) for seed in range(30)}
    assert len(cohorts) >= 25
    assert len({client for cohort in cohorts for client in cohort}) >= 45


def test_bad_parameters_are_named():
    with pytest.raises(UsageError, match="balanced: starts must be a whole number of at least 1, got 0"):
        selector("balanced:starts=0")
