"""Lineup: two rounds by hand, its weights, what it makes of Gram matrices, updates and losses, and a Maverick."""

import itertools

import numpy as np
import pytest

from callup import Clients, Feedback, Plan, Round, selector, stream
from callup.analytics.swap_search import Terms, best_group, most_needed_first
from callup.analytics.traits import from_counts, from_gram, pivoted_cholesky, sketches
from callup.core.errors import InputError, MissingSignal, UsageError

NOBODY = np.empty(0, np.int64)


def started(spec, clients, classes=None, k=2, **settings):
    made = selector(spec, **settings)
    made.start(clients, Plan(k=k, classes=classes), stream(0, "start"))
    return made


def chosen(lineup, clients, index, k, available=None):
    now = Round(index, clients.ids if available is None else available, clients, stream(0, "round", index))
    return lineup.select(now, k)


def test_two_rounds_by_hand():
    # z: 1 (.5, -.5), 2 (-.5, .5), 3 (0, 0), 4 (.1, -.1); |z|^2: .5, .5, 0, .02. own 0.1 and 10 samples: a = 1/2 each,
    # so two clients weigh 1/2 each, A = 1 and own / A = .1. With drift 0.06:
    #   {3,4}: .005 + .0006 + .1 = .1056    {1,2}: 0 + .03 + .1 = .13    {2,4}: .08 + .0156 + .1, the others more.
    clients = Clients([1, 2, 3, 4], label_counts=[[10, 0], [0, 10], [5, 5], [6, 4]])
    lineup = started("lineup", clients)
    first = chosen(lineup, clients, 1, 2)
    assert set(first.ids.tolist()) == {3, 4}
    assert first.notes["objective"] == pytest.approx(0.1056)
    assert first.notes["imbalance"] == pytest.approx(0.005)
    assert first.weights.tolist() == [0.5, 0.5]
    lineup.update(Feedback(1, first.ids, {}, clients))
    # Faded by 1/2: m_3 = m_4 = .25 and h = .25 (.1, -.1).
    #   {3,4}: 2 * .075^2 + .0006 + .1 * 2 * .25 + .1 = .16185    {1,2}: 2 * .025^2 + .03 + .1 = .13125
    second = chosen(lineup, clients, 2, 2)
    assert set(second.ids.tolist()) == {1, 2}
    assert second.notes["objective"] == pytest.approx(0.13125)
    assert second.notes["debt"] == pytest.approx(2 * 0.025**2)


def test_whoever_was_asked_in_vain_counts_as_called_but_not_as_heard():
    clients = Clients([1, 2, 3, 4], label_counts=[[10, 0], [0, 10], [5, 5], [6, 4]])
    lineup = started("lineup", clients)
    lineup.update(Feedback(1, np.array([3]), {}, clients, failed={4: "no reply"}))
    after = chosen(lineup, clients, 2, 4)
    assert after.notes["debt"] == 0.0  # client 3 alone was heard, and it is balanced
    recent = dict(zip(after.ids.tolist(), after.scores["called_lately"].tolist(), strict=True))
    assert recent == {1: 0.0, 2: 0.0, 3: 0.25, 4: 0.25}


def test_small_clients_weigh_by_their_samples_and_large_ones_alike():
    # a = .1 n / (1 + .1 n): 10 samples 1/2, 90 samples 9/10, 990 samples 99/100.
    clients = Clients([1, 2, 3], label_counts=[[5, 5], [45, 45], [495, 495]])
    group = chosen(started("lineup", clients), clients, 1, 3)
    weights = dict(zip(group.ids.tolist(), group.weights.tolist(), strict=True))
    assert weights == pytest.approx({1: 0.5 / 2.39, 2: 0.9 / 2.39, 3: 0.99 / 2.39})


def test_an_empty_client_is_asked_only_when_nobody_else_is_left():
    clients = Clients([1, 2, 3], label_counts=[[9, 0], [0, 0], [9, 0]])
    lineup = started("lineup", clients)
    assert set(chosen(lineup, clients, 1, 2).ids.tolist()) == {1, 3}
    assert set(chosen(lineup, clients, 1, 3).ids.tolist()) == {1, 2, 3}


@pytest.mark.parametrize("target", ["uniform", "pooled"])
def test_inner_products_are_as_good_as_counts(target):
    rng = stream(0, "counts")
    counts = rng.integers(0, 40, (30, 5))
    whole = Clients(np.arange(30), label_counts=counts)
    gram = Clients(np.arange(30), label_gram=counts @ counts.T, num_examples=counts.sum(axis=1))
    a, b = (started(f"lineup:target={target}", clients, 5, 6) for clients in (whole, gram))
    for index in range(1, 8):
        ours, theirs = chosen(a, whole, index, 6), chosen(b, gram, index, 6)
        assert ours.ids.tolist() == theirs.ids.tolist()
        assert ours.notes["objective"] == pytest.approx(theirs.notes["objective"], abs=1e-9)
        a.update(Feedback(index, ours.ids, {}, whole))
        b.update(Feedback(index, theirs.ids, {}, gram))
    assert (chosen(a, whole, 9, 1).notes["basis"], chosen(b, gram, 9, 1).notes["basis"]) == (0.0, 1.0)


def test_vectors_from_a_gram_matrix_have_the_inner_products_of_the_shares():
    counts = stream(1, "counts").integers(1, 20, (12, 4)).astype(float)
    z = from_counts(counts, np.full(4, 0.25))
    assert z.sum(axis=1) == pytest.approx(np.zeros(12))
    back = from_gram(counts @ counts.T, counts.sum(axis=1), 4, pooled=False)
    assert back @ back.T == pytest.approx(z @ z.T, abs=1e-12)
    low = stream(2, "rows").normal(size=(9, 3))
    rows = pivoted_cholesky(low @ low.T, 5)
    assert rows @ rows.T == pytest.approx(low @ low.T)


def test_a_prior_of_your_own():
    # Shares 3:1 are the target: client 2 differs in nothing.
    clients = Clients([1, 2, 3], label_counts=[[10, 10], [15, 5], [20, 0]])
    lineup = selector("lineup", prior=(3.0, 1.0))
    lineup.start(clients, Plan(k=1), stream(0, "start"))
    group = chosen(lineup, clients, 1, 1)
    assert group.ids.tolist() == [2]
    assert group.scores["skew"].tolist() == [0.0]


def test_from_updates_opposites_go_together():
    # Two clients move one way, two the other; their mean is 0, so z are unit vectors. With drift 0.06 a
    # pair of opposites costs .06, two alike 1.06; the memory of who was called is the same for all.
    clients = Clients([1, 2, 3, 4], num_examples=[50] * 4)
    way = stream(0, "way").normal(size=300)
    lineup = started("lineup:updates", clients)
    lineup.update(Feedback(1, clients.ids, {"update": np.stack([way, way, -way, -way])}, clients))
    for index in range(2, 12):
        group = chosen(lineup, clients, index, 2)
        assert len(set(group.ids.tolist()) & {1, 2}) == 1
        assert group.scores["skew"] == pytest.approx([1.0, 1.0])
        assert group.notes["basis"] == 2.0


def test_sketches_keep_inner_products_on_average():
    # Of 400 pairs of random unit vectors the mean error of the product is below 4 standard errors; false alarm 6e-5.
    rows = stream(3, "rows").normal(size=(40, 2000))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    short = sketches(rows, 64)
    errors = (short @ short.T - rows @ rows.T)[np.triu_indices(40, 1)]
    assert abs(errors.mean()) < 4 / np.sqrt(64 * len(errors))
    assert np.sqrt(np.square(errors).mean()) == pytest.approx(1 / 8, rel=0.2)


def test_from_losses_the_highest_first_and_then_others():
    clients = Clients([1, 2, 3], num_examples=[50] * 3)
    lineup = started("lineup:losses", clients, k=1)
    lineup.update(Feedback(1, clients.ids, {"loss": np.array([0.1, 3.0, 0.2])}, clients))
    # Called alike so far. Ranks make the cost .1 (1 - rank): 0 for client 2, .05 for 3 and .1 for 1.
    assert chosen(lineup, clients, 2, 1).ids.tolist() == [2]
    assert set(chosen(lineup, clients, 2, 2).ids.tolist()) == {2, 3}
    lineup.update(Feedback(2, np.array([2]), {"loss": np.array([3.0])}, clients))
    # m_2 is now above the others' by 1/2, which costs .1 * 2 * .5 = .1; client 3 costs .05.
    assert chosen(lineup, clients, 3, 1).ids.tolist() == [3]


def test_without_labels_a_reply_must_tell_something():
    clients = Clients([1, 2], num_examples=[5, 5])
    lineup = started("lineup", clients)
    with pytest.raises(MissingSignal, match="update"):
        lineup.update(Feedback(1, clients.ids, {}, clients))


def test_a_maverick_is_called_early_and_keeps_coming_back():
    # Client 0 alone has class 0, and ten times the samples of anybody else.
    counts = np.full((30, 5), 10)
    counts[:, 0] = 0
    counts[0] = [380, 5, 5, 5, 5]
    clients = Clients(np.arange(30), label_counts=counts)
    lineup = started("lineup", clients, k=5)
    called = []
    for index in range(1, 31):
        ids = chosen(lineup, clients, index, 5).ids
        lineup.update(Feedback(index, ids, {}, clients))
        called.append(0 in ids)
    assert any(called[:2])
    assert max(len(list(run)) for hit, run in itertools.groupby([*called, False]) if not hit) <= 3


def test_no_exchange_improves_the_group_and_small_cases_are_nearly_optimal():
    ratios = []
    for seed in range(20):
        rng = stream(seed, "search")
        terms = Terms(rng.normal(size=(10, 3)), rng.uniform(0, 1, 10), rng.uniform(0.5, 1, 10), 0.3)
        group = best_group(terms, 4, rng.uniform(size=10), rng)
        mine = terms.value(group)
        assert len(set(group.tolist())) == 4
        for place, other in itertools.product(range(4), set(range(10)) - set(group.tolist())):
            swapped = group.copy()
            swapped[place] = other
            assert mine <= terms.value(swapped) + 1e-9
        ratios.append(mine / min(terms.value(np.array(some)) for some in itertools.combinations(range(10), 4)))
    assert np.mean(ratios) < 1.05


def test_the_most_needed_comes_first():
    # Without row 0 the mean is (-1, 0) long; without row 1 it is (1, 0); row 2 is at the origin and costs most itself.
    terms = Terms(np.array([[2.0, 0], [-1.0, 0], [0.0, 0]]), np.array([0.0, 0.0, 0.5]), np.ones(3), 0.0)
    # J without 0: .25 + .25; without 1: 1 + .25; without 2: .25.
    assert most_needed_first(terms, np.array([0, 1, 2])).tolist() == [1, 0, 2]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"drift": -1.0}, "drift must not be negative"),
        ({"own": 0.0}, "own must be above 0"),
        ({"fade": 1.0}, "fade must be from 0 to below 1"),
        ({"prior": (1.0, -1.0)}, "prior must not be negative"),
        ({"candidates": 0}, "candidates must be a whole number"),
    ],
)
def test_settings_that_make_no_sense(settings, said):
    with pytest.raises(UsageError, match=said):
        selector("lineup", **settings)


def test_label_statistics_that_do_not_fit():
    gram = Clients([1, 2], label_gram=np.eye(2), num_examples=[1, 1])
    with pytest.raises(InputError, match="set classes in the plan"):
        started("lineup", gram)
    with pytest.raises(InputError, match="leave prior out"):
        started("lineup", gram, classes=2, prior=(1.0, 1.0))
    with pytest.raises(InputError, match="prior has 2 numbers for 3 classes"):
        started("lineup", Clients([1], label_counts=[[1, 1, 1]]), prior=(1.0, 1.0))


def test_a_million_clients_are_looked_at_through_a_pool():
    clients = Clients(np.arange(9000), label_counts=stream(0, "many").integers(0, 9, (9000, 3)))
    lineup = started("lineup:candidates=50", clients, k=10)
    assert len(chosen(lineup, clients, 1, 10).ids) == 10
    assert len(chosen(lineup, clients, 1, 80).ids) == 80  # never fewer than asked for
    lineup.update(Feedback(1, NOBODY, {}, clients))
