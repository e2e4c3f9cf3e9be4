"""Lineup: two rounds by hand, its weights, what it makes of Gram matrices, updates and losses, and Mavericks."""

import itertools

import numpy as np
import pytest

from callup import Clients, Feedback, Plan, Round, selector, stream
from callup.analytics.swap_search import Group, Terms, best_group, most_needed_first, settled
from callup.analytics.traits import from_counts, from_gram, pivoted_cholesky, sketches
from callup.analytics.update_lengths import slowdown
from callup.core.basis import told_by
from callup.core.errors import InputError, MissingSignal, UsageError

NOBODY = np.empty(0, np.int64)


def started(spec, clients, classes=None, k=2, rounds=None, **settings):
    made = selector(spec, **settings)
    made.start(clients, Plan(k=k, classes=classes, rounds=rounds), stream(0, "start"))
    return made


def chosen(lineup, clients, index, k, available=None):
    now = Round(index, clients.ids if available is None else available, clients, stream(0, "round", index))
    return lineup.select(now, k)


def test_two_rounds_by_hand():
    # z: 1 (.5, -.5), 2 (-.5, .5), 3 (0, 0), 4 (.1, -.1); |z|^2: .5, .5, 0, .02. With own 0.1 and 10 samples a = 1/2, so
    # leaning on a client costs own / a = .2 times the square of its share. With drift 0.06, t being the share of 4:
    #   {3,4}: .02 t^2 + .0012 t + .2 (t^2 + (1-t)^2), least where .84 t = .3988
    #   {1,2}: shares 1/2 each, 0 + .03 + .1 = .13
    clients = Clients([1, 2, 3, 4], label_counts=[[10, 0], [0, 10], [5, 5], [6, 4]])
    lineup = started("lineup", clients, own=0.1, zeal=0.0, presence=np.inf, even=False)
    t = 0.3988 / 0.84
    first = chosen(lineup, clients, 1, 2)
    assert set(first.ids.tolist()) == {3, 4}
    assert dict(zip(first.ids.tolist(), first.weights, strict=True)) == pytest.approx({4: t, 3: 1 - t}, abs=1e-3)
    objective = 0.02 * t**2 + 0.0012 * t + 0.2 * (t**2 + (1 - t) ** 2)
    assert first.notes["objective"] == pytest.approx(objective, abs=1e-6)
    assert first.notes["imbalance"] == pytest.approx(0.02 * t**2, rel=1e-2)
    lineup.update(Feedback(1, first.ids, {}, clients))
    # Faded by 1/2: m_4 = t / 2, m_3 = (1-t) / 2, so h = t/2 (.1, -.1) and calling 3 and 4 again costs about .05 more.
    #   {1,2}: with s the share of 1, 2 (.05 t + s - 1/2)^2 + .03 + .2 (s^2 + (1-s)^2), least where
    #   4 (.05 t + s - 1/2) + .4 (2 s - 1) = 0, so s - 1/2 = -.2 t / 4.8.
    second = chosen(lineup, clients, 2, 2)
    assert set(second.ids.tolist()) == {1, 2}
    s = 0.5 - 0.2 * t / 4.8
    assert dict(zip(second.ids.tolist(), second.weights, strict=True)) == pytest.approx({1: s, 2: 1 - s}, abs=1e-3)
    assert second.notes["debt"] == pytest.approx(2 * (0.05 * t) ** 2, rel=1e-2)


def test_a_little_of_a_class_is_much_better_than_none():
    # Three samples of each class do not count. Two classes wanted alike, presence 1: p / (p + 1/2) is .9/1.4 and .1/.6.
    z = from_counts(np.array([[93, 13], [7, 3], [8, 8], [0, 0], [2, 2]]), np.full(2, 0.5), 1.0)
    assert z[0] == pytest.approx([0.9 / 1.4 / (0.9 / 1.4 + 0.1 / 0.6) - 0.5, 0.1 / 0.6 / (0.9 / 1.4 + 0.1 / 0.6) - 0.5])
    # One class alone, the target itself and nobody stay what they are; who has few samples in all keeps them.
    assert z[1:] == pytest.approx(np.array([[0.5, -0.5], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]))
    # The same for a target that is not uniform, and a class nobody wants counts as it is.
    target = np.array([0.75, 0.25, 0.0])
    assert from_counts(np.array([[63, 23, 0], [0, 0, 5]]), target, 0.5) == pytest.approx(
        np.array([[0.0, 0.0, 0.0], [-0.75, -0.25, 1.0]])
    )


def test_whose_updates_became_short_weighs_more():
    clients = Clients([1, 2, 3, 4, 5], label_counts=[[5, 5]] * 5)

    def heard(spec, *rounds):
        lineup = started(spec, clients, k=5)
        for index, lengths in enumerate(rounds, 1):
            lineup.update(Feedback(index, clients.ids, {"update": np.array([lengths, np.zeros(5)]).T}, clients))
        after = chosen(lineup, clients, 9, 5)
        assert after.scores["share"] == pytest.approx(np.full(5, 0.2))
        return [dict(zip(after.ids.tolist(), after.weights.tolist(), strict=True))[i] for i in clients.ids.tolist()]

    even, first = [0.2] * 5, [3.0, 1.0, 1.0, 0.2, 2.0]
    # Client 4 has always sent short ones, so that is how it trains; and when all shrink alike, nobody is short.
    assert heard("lineup:zeal=0") == pytest.approx(even)
    assert heard("lineup:zeal=0", first) == pytest.approx(even)
    assert heard("lineup:zeal=0", first, [length / 2 for length in first]) == pytest.approx(even)
    # Now client 5 sends a tenth of what it did, a fifth of the median 1, and 4 half of its own, a tenth of the median.
    # 5: the milder of 1/10 and 1/5; 4: the milder of 1/2 and 1/10, and half is as good as usual. Weights 1, 1, 1, 1, 5.
    usual = [1 / 9] * 4
    assert heard("lineup:zeal=0", first, [3.0, 1.0, 1.0, 0.1, 0.2]) == pytest.approx([*usual, 5 / 9])
    # With 4 at two fifths of its own: 1, 1, 1, 2.5, 5.
    few = [2 / 21] * 3
    assert heard("lineup:zeal=0", first, [3.0, 1.0, 1.0, 0.08, 0.2]) == pytest.approx([*few, 5 / 21, 10 / 21])
    assert heard("lineup:zeal=0,even=false", first, [3.0, 1.0, 1.0, 0.1, 0.2]) == pytest.approx(even)
    # Nobody moves any more.
    assert heard("lineup:zeal=0", first, [0.0] * 5) == pytest.approx(even)


def test_a_client_that_slows_the_round_down_rests_until_the_last_two_fifths():
    # Client 1 alone has class 0. Its update is a tenth of what it was, so with it a round of two goes 2/11 as far.
    assert slowdown(np.array([0.1, 1.0]), 2) == pytest.approx([9 / 11, 0.0])
    clients = Clients([1, 2, 3, 4], label_counts=[[100, 0], [0, 100], [0, 100], [0, 100]])

    def calls_it(index, rounds, **settings):
        lineup = started("lineup", clients, rounds=rounds, **settings)
        for round_index, length in ((1, 1.0), (2, 0.1)):
            updates = np.array([[length], [1.0], [1.0], [1.0]])
            lineup.update(Feedback(round_index, clients.ids, {"update": updates}, clients))
        return 1 in chosen(lineup, clients, index, 2).ids

    # Without class 0 the group is off by |(-.5, .5)|^2 = .5: more than a fee of .1 x 9/11, less than one of 1 x 9/11.
    assert calls_it(3, 10)
    assert not calls_it(3, 10, rest=1.0)
    assert [calls_it(index, 10, rest=1.0) for index in (6, 7)] == [False, True]
    assert calls_it(3, None, rest=1.0)  # who knows when it ends
    assert calls_it(3, 10, rest=1.0, even=False)  # it weighs no more, so it slows nobody down


def test_a_lost_part_is_shared_out_until_the_last_two_fifths():
    clients = Clients([1, 2, 3, 4], label_counts=[[10, 0], [0, 10], [5, 5], [6, 4]])

    def step(index, rounds):
        group = chosen(started("lineup", clients, rounds=rounds), clients, index, 2)
        return group.step(group.ids[:1], 2) / group.weights_of(group.ids[:1])[0]

    assert [step(index, 10) > 1 for index in (1, 6)] == [True, True]
    assert step(7, 10) == pytest.approx(1)
    assert step(1, None) == pytest.approx(1)  # who knows when it ends


def test_of_clients_alike_those_with_more_to_tell():
    clients = Clients([1, 2, 3, 4], label_counts=[[5, 5]] * 4)
    lineup = started("lineup", clients)
    lineup.update(Feedback(1, clients.ids, {"update": np.array([[4.0], [3.0], [2.0], [1.0]])}, clients))
    assert set(chosen(lineup, clients, 2, 2).ids.tolist()) == {1, 2}
    # Called once more, they have to wait: m is above that of the others by 1/4, 2 m by 1/2, and ranks differ by 2/3.
    lineup.update(Feedback(2, np.array([1, 2]), {"update": np.array([[4.0], [3.0]])}, clients))
    assert set(chosen(lineup, clients, 3, 2).ids.tolist()) == {3, 4}


def test_length_tells_nothing_where_updates_grow():
    clients = Clients([1, 2, 3, 4], label_counts=[[5, 5]] * 4)
    lineup = started("lineup", clients)
    first = np.array([[4.0], [3.0], [2.0], [1.0]])
    lineup.update(Feedback(1, clients.ids, {"update": first}, clients))
    assert (lineup.shorter_, lineup.longer_) == (0.0, 0.0)
    # Two became shorter and two longer: still something to tell, and 1 and 2 are the longest.
    lineup.update(Feedback(2, clients.ids, {"update": first * [[0.9], [0.9], [1.1], [1.1]]}, clients))
    assert (lineup.shorter_, lineup.longer_) == (2.0, 2.0)
    assert set(chosen(lineup, clients, 3, 2).ids.tolist()) == {1, 2}
    # Now all four longer: 1.8 shorter against 5.8 longer, so anybody may come.
    lineup.update(Feedback(3, clients.ids, {"update": first * 2}, clients))
    assert (lineup.shorter_, lineup.longer_) == pytest.approx((1.8, 5.8))
    assert len({tuple(sorted(chosen(lineup, clients, index, 2).ids.tolist())) for index in range(4, 30)}) == 6


def test_whoever_was_asked_in_vain_counts_as_called_but_not_as_heard():
    clients = Clients([1, 2, 3, 4], label_counts=[[100, 0], [0, 100], [53, 53], [63, 43]])
    lineup = started("lineup", clients)
    lineup.update(Feedback(1, np.array([3]), {}, clients, failed={4: "no reply"}))
    after = chosen(lineup, clients, 2, 4)
    assert after.notes["debt"] == 0.0  # client 3 alone was heard, and it is balanced
    recent = dict(zip(after.ids.tolist(), after.scores["called_lately"].tolist(), strict=True))
    assert recent == pytest.approx({1: 0.0, 2: 0.0, 3: 0.25, 4: 0.25})


def test_a_place_counts_as_a_place_however_much_its_client_weighed():
    # Client 1 alone has class 0 and weighs most; each of the three had a third of the places.
    clients = Clients([1, 2, 3, 4], label_counts=[[100, 0], [0, 100], [0, 100], [0, 100]])
    lineup = started("lineup", clients, k=3)
    first = chosen(lineup, clients, 1, 3)
    assert first.ids[0] == 1
    assert first.scores["share"][0] > 0.4
    lineup.update(Feedback(1, first.ids, {}, clients))
    after = chosen(lineup, clients, 2, 4)
    recent = dict(zip(after.ids.tolist(), after.scores["called_lately"].tolist(), strict=True))
    assert [recent[client] for client in first.ids.tolist()] == pytest.approx([0.5 / 3] * 3)


def test_what_a_lost_reply_would_have_brought_is_still_owed():
    clients = Clients([1, 2], label_counts=[[100, 0], [0, 100]])
    half, both = started("lineup", clients), started("lineup", clients)
    both.update(Feedback(1, np.array([1, 2]), {}, clients))
    half.update(Feedback(1, np.array([1]), {}, clients, failed={2: "no reply"}))
    # Each had one half of the change. Evened out, a client of one class has z = (1/2, -1/2), whose square is 1/2: with
    # both replies nothing is owed, with one h = fade z / 2.
    assert chosen(both, clients, 2, 2).notes["debt"] == pytest.approx(0.0)
    assert chosen(half, clients, 2, 2).notes["debt"] == pytest.approx((0.5 * 0.5) ** 2 * 0.5)


def test_small_clients_weigh_by_their_samples_and_large_ones_alike():
    # a = .1 n / (1 + .1 n): 10 samples 1/2, 90 samples 9/10, 990 samples 99/100.
    clients = Clients([1, 2, 3], label_counts=[[5, 5], [45, 45], [495, 495]])
    group = chosen(started("lineup:own=0.1", clients), clients, 1, 3)
    weights = dict(zip(group.ids.tolist(), group.weights.tolist(), strict=True))
    assert weights == pytest.approx({1: 0.5 / 2.39, 2: 0.9 / 2.39, 3: 0.99 / 2.39}, rel=1e-3)


def test_an_empty_client_is_asked_only_when_nobody_else_is_left():
    clients = Clients([1, 2, 3], label_counts=[[9, 0], [0, 0], [9, 0]])
    lineup = started("lineup", clients)
    assert set(chosen(lineup, clients, 1, 2).ids.tolist()) == {1, 3}
    assert set(chosen(lineup, clients, 1, 3).ids.tolist()) == {1, 2, 3}


@pytest.mark.parametrize("target", ["uniform", "pooled"])
def test_inner_products_are_as_good_as_shares_as_they_are(target):
    rng = stream(0, "counts")
    counts = rng.integers(0, 40, (30, 5))
    whole = Clients(np.arange(30), label_counts=counts)
    gram = Clients(np.arange(30), label_gram=counts @ counts.T, num_examples=counts.sum(axis=1))
    a, b = (started(f"lineup:target={target}", clients, 5, 6, presence=np.inf) for clients in (whole, gram))
    for index in range(1, 8):
        ours, theirs = chosen(a, whole, index, 6), chosen(b, gram, index, 6)
        assert ours.ids.tolist() == theirs.ids.tolist()
        assert ours.notes["objective"] == pytest.approx(theirs.notes["objective"], abs=1e-9)
        a.update(Feedback(index, ours.ids, {}, whole))
        b.update(Feedback(index, theirs.ids, {}, gram))
    assert [told_by(chosen(one, known, 9, 1).notes) for one, known in ((a, whole), (b, gram))] == [
        "label_counts",
        "label_gram",
    ]


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
    clients = Clients([1, 2, 3], label_counts=[[23, 23], [33, 13], [43, 0]])
    lineup = selector("lineup", prior=(3.0, 1.0))
    lineup.start(clients, Plan(k=1), stream(0, "start"))
    group = chosen(lineup, clients, 1, 1)
    assert group.ids.tolist() == [2]
    assert group.scores["skew"] == pytest.approx([0.0])


def test_from_updates_opposites_go_together():
    # Two clients move one way, two the other; their mean is 0, so z are unit vectors. A pair of opposites is balanced,
    # two alike cost 1, and drift has no part. What is left is own = .03 times: sum w^2 / a = .5 / .6, a being
    # 1.5 / 2.5; sum 2 m / k = .25, of .25 each a round ago, faded; zeal sum d / k = .5, all updates equally long.
    clients = Clients([1, 2, 3, 4], num_examples=[50] * 4)
    way = stream(0, "way").normal(size=300)
    lineup = started("lineup:updates", clients)
    lineup.update(Feedback(1, clients.ids, {"update": np.stack([way, way, -way, -way])}, clients))
    for index in range(2, 12):
        group = chosen(lineup, clients, index, 2)
        assert len(set(group.ids.tolist()) & {1, 2}) == 1
        assert group.scores["skew"] == pytest.approx([1.0, 1.0])
        assert told_by(group.notes) == "update"
        assert group.notes["objective"] == pytest.approx(0.03 * (0.5 / 0.6 + 0.25 + 0.5))


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
        terms = Terms(rng.normal(size=(10, 3)), *(rng.uniform(low, 1, 10) for low in (0, 0.5, 0)))
        group = best_group(terms, 4, rng.uniform(size=10), rng)
        mine = terms.value(group)
        assert len(set(group.rows.tolist())) == 4
        assert group.weights.sum() == pytest.approx(1)
        assert group.weights.min() > 0.2 / 4
        for place, other in itertools.product(range(4), set(range(10)) - set(group.rows.tolist())):
            others = group.without(place)
            for weight in np.linspace(0.0625, 1, 60):
                assert mine <= terms.value(others.joined(place, other, weight)) + 1e-6
        best = min(terms.value(settled(terms, np.array(some))) for some in itertools.combinations(range(10), 4))
        ratios.append(mine / best)
    assert np.mean(ratios) < 1.05


def test_settled_weights_are_the_best_there_are():
    # Against weights tried at random, none of them below a quarter of an equal share.
    for seed in range(10):
        rng = stream(seed, "settled")
        terms = Terms(rng.normal(size=(5, 3)), *(rng.uniform(low, 1, 5) for low in (0, 0.5, 0)))
        ours = terms.value(settled(terms, np.arange(5)))
        tried = 0.05 + 0.75 * rng.dirichlet(np.ones(5), 4000)
        assert ours <= min(terms.value(Group(np.arange(5), weights)) for weights in tried) + 1e-9


def test_the_most_needed_comes_first():
    # Without row 0 the mean is (-1, 0) long; without row 1 it is (1, 0); row 2 is at the origin and costs most itself.
    vectors, costs = np.array([[2.0, 0], [-1.0, 0], [0.0, 0]]), np.array([0.0, 0.0, 0.5])
    terms = Terms(vectors, costs, np.full(3, 1e-9), np.zeros(3))
    # J without 0: .25 + .25; without 1: 1 + .25; without 2: .25.
    group = Group(np.arange(3), np.full(3, 1 / 3))
    assert most_needed_first(terms, group).rows.tolist() == [1, 0, 2]
    # A fee of 1 for having 1 at all: without it J is 1.25 still, without 0 it is 1.5.
    dear = Terms(vectors, costs, np.full(3, 1e-9), np.array([0.0, 1.0, 0.0]))
    assert most_needed_first(dear, group).rows.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"drift": -1.0}, "drift must not be negative"),
        ({"own": 0.0}, "own must be above 0"),
        ({"zeal": -1.0}, "zeal must not be negative"),
        ({"rest": np.inf}, "rest must not be negative and must be finite"),
        ({"presence": 0.0}, "presence must be above 0"),
        ({"few": 0.5}, "few must be 1 or more"),
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


def test_who_is_drawn_by_lot_bounds_what_any_claim_can_win():
    # 40 clients, 4 places; client 0 claims a class of its own. Among 8 drawn by lot it can be called in one round of
    # five: 100 of 500, standard deviation 8.9, and 5 of those above has a chance below 1e-6. Else it is there always.
    counts = np.tile([30, 30, 0], (40, 1))
    counts[0] = [0, 0, 60]
    clients = Clients(np.arange(40), label_counts=counts)
    calls = {}
    for spec in ("lineup", "lineup:candidates=8"):
        lineup = started(spec, clients, k=4)
        calls[spec] = sum(0 in chosen(lineup, clients, index, 4).ids for index in range(1, 501))
    assert calls["lineup"] == 500
    assert 50 < calls["lineup:candidates=8"] <= 145
