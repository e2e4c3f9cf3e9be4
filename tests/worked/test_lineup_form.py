"""Lineup that goes by form: classes the model does badly on are wanted more, worked out by hand."""

import numpy as np
import pytest

from callup import Clients, Feedback, Plan, Round, selector, stream
from callup.analytics.class_form import fair_target, hardness, owners


def chosen(lineup, clients, index, k):
    now = Round(index=index, available=clients.ids, clients=clients, rng=stream(3, "select", index))
    return lineup.select(now, k)


def started(spec, clients, k):
    lineup = selector(spec)
    lineup.start(clients, Plan(k=k, rounds=50), stream(3, "start"))
    return lineup


def test_a_class_is_as_hard_as_those_say_who_have_it():
    # Class 0: (1 x 3 + 0.5 x 1) / 1.5 = 7/3, class 1: (0.5 x 1) / 0.5 = 1; their mean is 5/3. Nobody has class 2.
    found = hardness(np.array([[1.0, 0, 0], [0.5, 0.5, 0]]), np.array([3.0, 1.0]))
    assert found == pytest.approx([7 / 5, 3 / 5, 1.0])


def test_no_class_is_more_than_twice_or_less_than_half_as_hard():
    # Means 0, 0, 0 and 4: relative to their mean, 0 and 4.
    assert hardness(np.eye(4), np.array([0, 0, 0, 4.0])) == pytest.approx([0.5, 0.5, 0.5, 2.0])
    assert hardness(np.eye(2), np.zeros(2)) == pytest.approx([1.0, 1.0])


def test_a_class_is_spread_over_as_many_clients_as_have_it():
    # Class 0: 2^2 / 2; class 1: one owner; class 2: (1 + 0.5)^2 / (1 + 0.25) = 1.8; class 3: nobody.
    counts = np.array([[60, 0, 0, 0], [60, 0, 0, 0], [0, 30, 30, 0], [0, 0, 60, 0]])
    assert owners(counts) == pytest.approx([2.0, 1.0, 1.8, np.inf])
    many = np.tile(counts, (50_000, 1))  # in blocks
    assert owners(many) == pytest.approx([1e5, 5e4, 9e4, np.inf])


def test_the_target_leans_by_a_power_of_the_loss():
    assert fair_target(np.array([0.5, 0.5]), np.array([1.5, 0.5]), 1.0) == pytest.approx([0.75, 0.25])
    assert fair_target(np.array([0.2, 0.8]), np.array([2.0, 0.5]), 0.5) == pytest.approx([1 / 3, 2 / 3])
    assert fair_target(np.array([0.2, 0.8]), np.array([2.0, 0.5]), 0.0) == pytest.approx([0.2, 0.8])


TWO = Clients([1, 2], label_counts=[[60, 0], [0, 60]])


def test_shares_follow_the_losses():
    # Losses 3 and 1: their median is 2, and against it they are 1.5 and 0.5; so u = (0.75, 0.25) for q = 1.
    # z is (0.25, -0.25) and (-0.75, 0.75). With w for client 1, no memory and no drift,
    # J = 2 (w - 0.75)^2 + v (w^2 + (1 - w)^2), least where 4 w - 3 + 4 v w - 2 v = 0; with 60 samples each
    # v = own + 1 / 60, which is 0.14 / 3.
    lineup = started("lineup:fairness=1,fade=0,drift=0,zeal=0", TWO, 2)
    before = chosen(lineup, TWO, 1, 2)
    assert before.scores["share"] == pytest.approx([0.5, 0.5])
    lineup.update(Feedback(1, np.array([1, 2]), {"loss": np.array([3.0, 1.0])}, TWO))
    after, v = chosen(lineup, TWO, 2, 2), 0.14 / 3
    assert dict(zip(after.ids.tolist(), after.scores["share"], strict=True)) == pytest.approx(
        {1: (3 + 2 * v) / (4 + 4 * v), 2: (1 + 2 * v) / (4 + 4 * v)}
    )


def test_old_losses_count_as_they_compared_then():
    # Round 1: 3 and 1 as above. Round 2: client 2 alone, with 0.2; the usual loss is (0.9 x 2 + 0.2) / 1.9, and 0.2 is
    # 0.19 of that. Client 1's 3 is still 1.5 times what was usual. The mean is 0.845: 1.775 times that, and 0.225,
    # which counts 0.5.
    lineup = started("lineup:fairness=1", TWO, 2)
    lineup.update(Feedback(1, np.array([1, 2]), {"loss": np.array([3.0, 1.0])}, TWO))
    lineup.update(Feedback(2, np.array([2]), {"loss": np.array([0.2])}, TWO))
    hard = 1.5 / ((1.5 + 0.19) / 2)
    assert lineup.wanted_ == pytest.approx([hard / (hard + 0.5), 0.5 / (hard + 0.5)])


def test_a_liar_alone_cannot_shift_the_target_further_than_a_bound():
    # Ten classes, ten owners; one claims a loss of a billion. Against a median of 1 it counts as 4, the mean of all is
    # 1.3, and so its class counts 2 and the others 1 / 1.3.
    clients = Clients(np.arange(10), label_counts=np.eye(10, dtype=int) * 60)
    lineup = started("lineup:form", clients, 10)
    losses = np.array([1e9, *[1.0] * 9])
    lineup.update(Feedback(1, np.arange(10), {"loss": losses}, clients))
    parts = np.array([2.0, *[1 / 1.3] * 9])
    assert lineup.wanted_ == pytest.approx(parts / parts.sum())


def test_without_losses_it_chooses_as_lineup_does():
    counts = stream(1, "counts").integers(0, 60, size=(30, 4))
    clients = Clients(np.arange(30), label_counts=counts)
    one, plain = started("lineup:fairness=1", clients, 5), started("lineup", clients, 5)
    for index in range(1, 6):
        ours, theirs = chosen(one, clients, index, 5), chosen(plain, clients, index, 5)
        assert ours.ids.tolist() == theirs.ids.tolist()
        for method in (one, plain):
            method.update(Feedback(index, ours.ids, {}, clients))


def test_only_form_asks_for_losses():
    assert "loss?" not in map(str, selector("lineup").needs)
    assert "loss?" in map(str, selector("lineup:form").needs)
    assert "loss?" not in map(str, selector("lineup:fairness=1,basis=update").needs)


def test_a_class_that_many_have_is_wanted_as_before():
    # Losses 3, 1, 1 with medians 1; class 0 has one owner, class 1 two: relative to their mean of 2, 3 / 2 and 1 / 2,
    # to the power of 1 and of 1/2.
    clients = Clients([1, 2, 3], label_counts=[[60, 0], [0, 60], [0, 60]])
    lineup = started("lineup:fairness=1", clients, 3)
    lineup.update(Feedback(1, np.array([1, 2, 3]), {"loss": np.array([3.0, 1.0, 1.0])}, clients))
    parts = np.array([1.5, 0.5**0.5])
    assert lineup.wanted_ == pytest.approx(parts / parts.sum())
