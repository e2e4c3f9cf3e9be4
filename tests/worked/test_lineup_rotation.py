"""Lineup that rotates: whoever had more of the run than is theirs makes room, worked out by hand."""

import numpy as np
import pytest

from callup import Clients, Feedback, Plan, Round, selector, stream
from callup.analytics.class_form import owners
from callup.analytics.fair_shares import excess, fair_shares, voices


def chosen(lineup, clients, index, k):
    return lineup.select(Round(index, clients.ids, clients, stream(3, "select", index)), k)


def started(spec, clients, k, classes=None):
    lineup = selector(spec)
    lineup.start(clients, Plan(k=k, rounds=50, classes=classes), stream(3, "start"))
    return lineup


def played(spec, clients, k, rounds):
    """The sum of each client's shares, by id, and how often it was called."""
    lineup = started(spec, clients, k)
    shares, calls = np.zeros(len(clients)), np.zeros(len(clients), int)
    for index in range(1, rounds + 1):
        group = chosen(lineup, clients, index, k)
        shares[group.ids] += group.scores["share"]
        calls[group.ids] += 1
        lineup.update(Feedback(index, group.ids, {}, clients))
    return shares, calls


def test_each_class_is_divided_among_those_who_have_it():
    # Nobody has class 2: the parts of the others are 1/2. Of class 0 there are 1 + 1 + 1/2 shares, so clients 0 and 1
    # have 1/2 x 1 / 2.5 and client 2 half of that; of class 1, client 3 has 1/2 x 1 / 1.5 and client 2 half of that.
    counts = np.array([[60, 0, 0], [60, 0, 0], [30, 30, 0], [0, 60, 0]])
    heard = voices(counts)
    assert heard == pytest.approx([2.5, 1.5, 0.0])
    parts = fair_shares(counts, np.full(3, 1 / 3), heard, 4)
    assert parts == pytest.approx([1 / 5, 1 / 5, 1 / 10 + 1 / 6, 1 / 3])
    assert parts.sum() == pytest.approx(1)
    assert voices(np.tile(counts, (50_000, 1))) == pytest.approx(heard * 50_000)  # in blocks
    assert fair_shares(np.zeros((1, 3)), np.full(3, 1 / 3), heard, 4) == pytest.approx([0.1 / 4])


def test_only_what_others_could_have_had_is_too_much():
    # Class 0 is spread over (1 + 1)^2 / (1 + 1) = 2 clients, class 1 over (1 + 1/2)^2 / (1 + 1/4) = 9/5, class 2 over
    # one. Client 0 had three times its part, and of the two parts too many another could have had half; client 2 had
    # twice its part, and 4/9 of one could have been another's; client 3 had half of its part.
    counts = np.array([[60, 0, 0], [60, 0, 0], [0, 60, 0], [0, 30, 30]])
    assert owners(counts) == pytest.approx([2, 9 / 5, 1])
    fair, parts = np.array([0.1, 0.1, 0.2, 0.4]), np.array([0.3, 0.1, 0.4, 0.2])
    over = excess(counts, parts, fair, 1.0, owners(counts))
    assert over == pytest.approx([2 / 2, 0, 1 * (1 - 5 / 9), 0])


def test_what_few_own_is_nobody_elses():
    # As above, and what is spread over up to 3/2 clients counts as one owner's: class 0, of two, as 4/3 owners' and
    # class 1 as 6/5 owners'. Of what client 0 had too much another could have had 1/4; of what client 2 had, 1/6.
    counts = np.array([[60, 0, 0], [60, 0, 0], [0, 60, 0], [0, 30, 30]])
    fair, parts = np.array([0.1, 0.1, 0.2, 0.4]), np.array([0.3, 0.1, 0.4, 0.2])
    assert excess(counts, parts, fair, 1.0, owners(counts) / 1.5) == pytest.approx([2 / 4, 0, 1 / 6, 0])
    assert excess(counts, parts, fair, 1.0, owners(counts) / 3) == pytest.approx([0, 0, 0, 0])


def test_two_rounds_by_hand():
    # Fair parts are 1/4, 1/4 and 1/2. Round 1 calls 3 and one of the others, let it be a, with shares of 1/2: a had
    # twice its part, and half of that could have been the other one's, b: o = 1/2 x (2 - 1) / 3. It costs
    # 2 x 0.03 x 10 / 6 = 1/10, the others nothing, so b comes. Were b away, a would have the share t that makes
    # 2 (t - 1/2)^2 + v (t^2 + (1-t)^2) + t / 10 least: 4 t - 2 + 4 v t - 2 v + 1/10 = 0; v = own + 1/60.
    clients = Clients([1, 2, 3], label_counts=[[60, 0], [60, 0], [0, 60]])
    lineup = started("lineup:rotation=10,fade=0,drift=0,zeal=0", clients, 2)
    first = chosen(lineup, clients, 1, 2)
    a = next(iter(set(first.ids.tolist()) - {3}))
    assert first.scores["share"] == pytest.approx([0.5, 0.5])
    lineup.update(Feedback(1, first.ids, {}, clients))
    assert sorted(chosen(lineup, clients, 2, 2).ids.tolist()) == [3 - a, 3]
    without = lineup.select(Round(2, np.array([a, 3]), clients, stream(3, "select", 2)), 2)
    assert dict(zip(without.ids.tolist(), without.scores["had_too_much"], strict=True)) == pytest.approx({a: 0.1, 3: 0})
    v = 0.03 + 1 / 60
    t = (1.9 + 2 * v) / (4 + 4 * v)
    assert dict(zip(without.ids.tolist(), without.scores["share"], strict=True)) == pytest.approx({a: t, 3: 1 - t})


def test_who_shares_a_class_with_one_other_may_have_more_where_that_is_few():
    # As above, but a class of two owners is few's, so that a is charged nothing and has half again.
    clients = Clients([1, 2, 3], label_counts=[[60, 0], [60, 0], [0, 60]])
    lineup = started("lineup:rotation=10,few=2,fade=0,drift=0,zeal=0", clients, 2)
    first = chosen(lineup, clients, 1, 2)
    lineup.update(Feedback(1, first.ids, {}, clients))
    again = lineup.select(Round(2, first.ids, clients, stream(3, "select", 2)), 2)
    assert again.scores["had_too_much"] == pytest.approx([0, 0])
    assert again.scores["share"] == pytest.approx([0.5, 0.5])


def test_the_run_is_spread_over_those_who_are_alike_in_class():
    # Eight clients hold all four classes and 32 one class each: balance and drift are content with the eight.
    counts = np.vstack([np.full((8, 4), 15), np.repeat(np.eye(4, dtype=int) * 60, 8, axis=0)])
    clients = Clients(np.arange(40), label_counts=counts)
    _, leaning = played("lineup", clients, 4, 160)
    _, rotating = played("lineup:rotation=10", clients, 4, 160)
    assert np.flatnonzero(leaning).tolist() == list(range(8))
    assert (rotating > 0).all()


def test_the_only_owner_of_a_class_keeps_coming():
    counts = np.vstack([np.tile([20, 20, 20, 0], (19, 1)), [[0, 0, 0, 80]]])
    clients = Clients(np.arange(20), label_counts=counts)
    _, before = played("lineup", clients, 4, 30)
    _, after = played("lineup:rotation=10", clients, 4, 30)
    assert before[19] >= 20
    assert after[19] >= 0.9 * before[19]


def test_without_label_counts_it_has_no_part():
    counts = stream(1, "counts").integers(0, 60, size=(20, 4))
    clients = Clients(np.arange(20), label_gram=counts @ counts.T, num_examples=counts.sum(axis=1))
    one, plain = started("lineup:rotation=10", clients, 5, 4), started("lineup", clients, 5, 4)
    for index in range(1, 6):
        ours, theirs = chosen(one, clients, index, 5), chosen(plain, clients, index, 5)
        assert ours.ids.tolist() == theirs.ids.tolist()
        for method in (one, plain):
            method.update(Feedback(index, ours.ids, {}, clients))


def test_who_left_leaves_nothing_behind():
    clients = Clients([1, 2, 3], label_counts=[[60, 0], [60, 0], [0, 60]])
    lineup = started("lineup:rotation=10", clients, 2)
    lineup.update(Feedback(1, np.array([1, 3]), {}, clients))
    lineup.roster(Clients([2, 3], label_counts=[[60, 0], [0, 60]]), stream(3, "roster"))
    assert lineup.season_.ids.tolist() == [3]
