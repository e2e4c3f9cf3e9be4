"""The attacks keep working: what the documents say leaks does leak, and what they say is hidden is.

All of it in Fed-CBS's own setting: 200 clients, Dirichlet of total concentration 0.1, 10 classes, classes balanced over
all. Seeded: each test passes or fails always the same.
"""

import itertools

import numpy as np
import pytest

import callup
from callup import Clients, stream
from callup.analytics.qcid import qcid
from callup.core.errors import InputError
from callup.core.types import Feedback, Plan, Round
from callup.partition.scheme import PARTITIONS
from callup.privacy import provide
from callup.privacy.audit.findings import audit
from callup.privacy.audit.known import with_known
from callup.privacy.audit.matching import assignment
from callup.privacy.audit.reconstruct import Guess, reconstruct, without_small
from callup.privacy.audit.score import knows_nothing, named, score
from callup.privacy.audit.selections import auc, likeness


def papers_setting(seed):
    """Everybody's label counts, (200, 10)."""
    labels = np.repeat(np.arange(10), 5000)
    scheme = PARTITIONS.make("dirichlet-balanced:clients=200,alpha=0.1")
    return scheme.split(labels, 10, stream(seed, "partition")).label_counts(labels, 10)


def attacked(released, truth, seed):
    """The selector's best guess at the true counts from inner products of the released ones, classes named kindly."""
    guess = reconstruct(released @ released.T, truth.sum(axis=1), 10, stream(seed, "attack"))
    return named(guess.counts, truth), guess.certain


@pytest.mark.parametrize("seed", range(3))
def test_inner_products_give_away_the_counts(seed):
    truth = papers_setting(seed)
    guess, certain = attacked(truth, truth, seed)
    assert certain and score(guess, truth).exact >= 0.95


@pytest.mark.parametrize("seed", range(3))
def test_noise_keeps_the_true_counts_from_the_attack(seed):
    truth = papers_setting(seed)
    clients = Clients(range(200), label_counts=truth)
    released = provide("dp:epsilon=1", clients, ["label_counts"], seed)["label_counts"]
    guess, certain = attacked(released, truth, seed)
    # It finds what was released, and that is not the truth.
    assert certain and (guess == named(released, truth)).all()
    found = score(guess, truth)
    assert found.exact < 0.05
    # What noise of one record does not hide, and nobody should say it does: what kind of client it is, and, where many
    # clients hold one class and no more, a guess at the rest, which is right for about a quarter.
    assert found.dominant > 0.95
    assert score(without_small(guess, truth.sum(axis=1), 1.0), truth).exact > 0.15


def test_fewer_classes_than_columns():
    # A class nobody holds is a column of zeros; it is found too.
    rng = stream(1, "few")
    truth = np.zeros((40, 5), np.int64)
    truth[:, :3] = rng.multinomial(80, [0.2, 0.3, 0.5], 40) * (rng.random((40, 3)) < 0.4)
    guess = reconstruct(truth @ truth.T, truth.sum(axis=1), 5, stream(1, "attack"))
    assert guess.certain and (named(guess.counts, truth) == truth).all()


def test_as_many_known_clients_as_classes_tell_everything():
    # Near-uniform clients, where the blind attack fails: B - 1 known ones and the sizes are B linear equations.
    rng = stream(4, "near iid")
    truth = np.stack([rng.multinomial(300, rng.dirichlet(np.full(10, 10.0))) for _ in range(60)])
    gram, sizes = truth @ truth.T, truth.sum(axis=1)
    blind = reconstruct(gram, sizes, 10, stream(4, "attack"), starts=3)
    assert score(named(blind.counts, truth), truth).exact < 0.2
    mine = np.arange(9)
    assert (with_known(blind, gram, sizes, mine, truth[mine]) == truth).all()
    fewer = with_known(blind, gram, sizes, mine[:2], truth[mine[:2]])
    assert score(fewer, truth).exact < 0.2


def test_known_clients_name_the_classes():
    truth = np.array([[9, 1, 0], [0, 5, 4], [2, 0, 7], [0, 0, 6]])
    turned = truth[:, [2, 0, 1]]
    guess = Guess(turned, True)
    named_by_one = with_known(guess, truth @ truth.T, truth.sum(axis=1), np.array([0]), truth[:1])
    assert (named_by_one == truth).all()


@pytest.mark.parametrize("seed", range(30))
def test_assignment_is_the_cheapest(seed):
    rng = stream(seed, "assignment")
    size = int(rng.integers(1, 7))
    cost = rng.integers(0, 9, (size, size)).astype(float)
    found = assignment(cost)
    assert sorted(found) == list(range(size))
    rows = range(size)
    assert cost[rows, found].sum() == min(cost[rows, p].sum() for p in itertools.permutations(rows))


def test_scores_by_hand():
    truth = np.array([[4, 0], [1, 3], [0, 0]])
    guess = np.array([[4, 0], [2, 2], [0, 0]])
    # The client without samples does not count. TV: 0 and |1/4 - 2/4| = 1/4. argmax of 2, 2 is class 0: wrong.
    found = score(guess, truth)
    assert (found.exact, found.distance, found.dominant) == (0.5, 0.125, 0.5)
    # Knowing 5 : 3 alone: TV |1 - 5/8| and |1/4 - 5/8|, both 3/8; class 0 for all.
    nothing = knows_nothing(truth)
    assert (nothing.exact, nothing.distance, nothing.dominant) == (0.0, 0.375, 0.5)


def test_auc_by_hand():
    # Pairs (alike, other): .8 > .5, .8 > .1, .5 = .5 (a half), .5 > .1: 3.5 of 4.
    assert auc(np.array([0.8, 0.5, 0.5, 0.1]), np.array([True, True, False, False])) == 3.5 / 4
    assert auc(np.array([1.0, 2.0]), np.array([True, True])) == 0.5


def test_pairs_that_avoid_each_other_look_alike():
    # Two rounds, everyone there; 0 and 1 are never together, 0 and 2 always.
    here = np.ones((2, 4), bool)
    picked = np.array([[1, 0, 1, 0], [0, 1, 0, 1]], bool)
    found = likeness(here, picked)
    # Each is picked in half of the rounds. Expected together: 2 x 1/4; found 0 and 1, in units of sqrt(1/2).
    assert found[0, 1] == pytest.approx(np.sqrt(0.5)) and found[0, 2] == pytest.approx(-np.sqrt(0.5))


def test_who_was_picked_tells_who_is_alike():
    clients = Clients(range(200), label_counts=papers_setting(0))
    found = audit(clients, ["shared"], seed=0, known=(), rounds=150)
    assert found.watching[0].auc > 0.6
    by_party = {f.party: f for f in found.findings}
    assert by_party["selector"].score.exact >= 0.95
    assert by_party["server"].score == found.nothing


def test_an_audit_needs_clients():
    with pytest.raises(InputError, match="at least 3 are needed, got 2"):
        audit(Clients([1, 2], label_counts=[[1, 2], [3, 4]]), ["shared"], seed=0)
    with pytest.raises(InputError, match="between 1 and 3 can be known, got 9"):
        audit(Clients(range(4), label_counts=np.eye(4, 3) * 5), ["shared"], seed=0, known=(9,))


def mean_qcid(truth, seen, seed, rounds=100):
    """Fed-CBS chooses 10 of 60 available by what it sees; the imbalance is that of the true labels."""
    clients = Clients(range(200), label_counts=seen)
    selector = callup.selector("fed-cbs")
    selector.start(clients, Plan(10, rounds, 10), stream(seed, "start"))
    total = 0.0
    for index in range(1, rounds + 1):
        here = stream(seed, "available", index).choice(200, 60, replace=False)
        chosen = selector.select(Round(index, here, clients, stream(seed, "select", index)), 10).ids
        selector.update(Feedback(index, chosen, {}, clients))
        total += qcid(truth[chosen])
    return total / rounds


def test_noise_at_epsilon_one_costs_fed_cbs_little():
    exact, noised, blind = [], [], []
    for seed in range(6):
        truth = papers_setting(seed)
        released = provide("dp:epsilon=1", Clients(range(200), label_counts=truth), ["label_counts"], seed)
        exact.append(mean_qcid(truth, truth, seed))
        noised.append(mean_qcid(truth, released["label_counts"], seed))
        blind.append(qcid(truth[stream(seed, "random").choice(200, 10, replace=False)]))
    assert abs(np.mean(noised) / np.mean(exact) - 1) < 0.10
    assert np.mean(blind) > 5 * np.mean(noised)  # a random cohort: the comparison is not of nothing with nothing
