"""FedACS: rewards, duels and the pool, by hand."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from callup import Clients, Feedback, Plan, Round, selector, stream
from callup.analytics.skewness import rewards
from callup.core.errors import InputError, UsageError
from callup.core.verify import ask


def started(spec, clients, k=2):
    made = selector(spec)
    made.start(clients, Plan(k=k), stream(0, "start"))
    return made


def told(clients, ids, gradients, index=1, **more):
    return Feedback(index, np.array(ids), {"gradient": np.asarray(gradients, np.float32)}, clients, **more)


def masses(fedacs, ids):
    return fedacs.wins_.get(np.array(ids)).tolist(), fedacs.losses_.get(np.array(ids)).tolist()


def test_reward_is_minus_the_distance_from_the_mean():
    # Mean of (0,0), (3,0), (0,6) is (1,2). Distances: sqrt(1+4), sqrt(4+4), sqrt(1+16).
    np.testing.assert_allclose(rewards(np.array([[0, 0], [3, 0], [0, 6]])), -np.sqrt([5, 8, 17]), rtol=1e-15)


def test_duels_of_three():
    # R: client 4 > 9 > 2. Client 4 wins twice, 9 wins and loses once, 2 loses twice; each win is worth eta = 0.5.
    clients = Clients([2, 4, 9, 11])
    fedacs = started("fedacs:eta=0.5", clients)
    fedacs.update(told(clients, [4, 9, 2], [[0, 0], [3, 0], [0, 6]]))
    assert masses(fedacs, [4, 9, 2, 11]) == ([1.0, 0.5, 0.0, 0.0], [0.0, 0.5, 1.0, 0.0])


def test_equals_do_not_duel():
    # 1, 1, 4 have mean 2 and distances 1, 1, 2: both near ones beat the far one and not each other.
    clients = Clients([0, 1, 2])
    fedacs = started("fedacs", clients)
    fedacs.update(told(clients, [0, 1, 2], [[1], [1], [4]]))
    assert masses(fedacs, [0, 1, 2]) == ([1, 1, 0], [0, 0, 2])


@pytest.mark.parametrize("seed", range(20))
def test_two_alone_are_always_equally_far_from_their_mean(seed):
    clients = Clients([0, 1])
    fedacs = started("fedacs", clients)
    fedacs.update(told(clients, [0, 1], stream(seed, "two").normal(size=(2, 1000))))
    assert masses(fedacs, [0, 1]) == ([0, 0], [0, 0])


def test_size_aware_multiplies_by_the_root_of_the_size():
    # 0, 1, 5 have mean 2 and distances 2, 1, 3. Times sqrt(1), sqrt(9), sqrt(1): 2, 3, 3.
    clients = Clients([0, 1, 2], num_examples=[1, 9, 1])
    plain, aware = started("fedacs", clients), started("fedacs:size_aware=true", clients)
    for fedacs in (plain, aware):
        fedacs.update(told(clients, [0, 1, 2], [[0], [1], [5]]))
    assert masses(plain, [0, 1, 2]) == ([1, 2, 0], [1, 0, 2])
    assert masses(aware, [0, 1, 2]) == ([2, 0, 0], [0, 1, 1])
    assert aware.needs.names() == ["gradient", "num_examples"]


def test_insight_may_be_the_update():
    clients = Clients([0, 1, 2])
    fedacs = started("fedacs:insight=update", clients)
    assert fedacs.needs.names() == ["update"]
    fedacs.update(Feedback(1, np.array([0, 1, 2]), {"update": np.array([[0.0], [1.0], [5.0]])}, clients))
    assert masses(fedacs, [0, 1, 2]) == ([1, 2, 0], [1, 0, 2])


def test_who_did_not_reply_does_not_duel():
    clients = Clients([0, 1, 2, 3])
    fedacs = started("fedacs", clients)
    fedacs.update(told(clients, [0], [[1.0]], failed={1: "no reply"}))
    fedacs.update(Feedback(2, np.empty(0, np.int64), {}, clients, failed={1: "no reply"}))
    fedacs.update(told(clients, [0, 2, 3], [[0], [1], [5]], index=3, failed={1: "no reply"}))
    assert masses(fedacs, [0, 1, 2, 3]) == ([1, 0, 2, 0], [1, 0, 0, 2])


def test_who_wins_every_duel_has_eta_times_k_minus_1_times_participations():
    clients = Clients(np.arange(5))
    fedacs = started("fedacs:eta=0.25", clients)
    v, w, none = [3.0, 0.0], [0.0, 5.0], [0.0, 0.0]
    for index in range(1, 13):
        minus_v, minus_w = [-x for x in v], [-x for x in w]
        if index % 3:  # 8 of 12 rounds with client 0; the others cancel out, so it sits on the mean
            fedacs.update(told(clients, [0, 1, 2, 3, 4], [none, v, minus_v, w, minus_w], index))
        else:
            fedacs.update(told(clients, [1, 2, 3, 4], [v, minus_v, w, minus_w], index))
    wins, losses = masses(fedacs, [0, 1, 3])
    assert wins[0] == 0.25 * (5 - 1) * 8
    assert losses[0] == 0
    # Client 1 beats 3 and 4 in all 12 rounds and loses to client 0 in 8; client 3 loses to 1 and 2 as well.
    assert (wins[1], losses[1]) == (0.25 * 2 * 12, 0.25 * 8)
    assert (wins[2], losses[2]) == (0, 0.25 * (2 * 12 + 8))


def test_history_lets_participants_duel_with_rewards_of_the_rounds_before():
    clients = Clients(np.arange(6))
    fedacs = started("fedacs:history=2", clients)  # a duel counts 1/2
    fedacs.update(told(clients, [0, 1, 2], [[0], [1], [5]]))
    # Mean 2, rewards -2, -1, -3; nobody is remembered yet.
    assert masses(fedacs, [0, 1, 2]) == ([0.5, 1, 0], [0.5, 0, 1])
    fedacs.update(told(clients, [2, 3, 4], [[0], [3], [9]], index=2))
    # Mean 4, rewards -4, -1, -5, against each other and against 0 at -2 and 1 at -1; 2's own past is not met.
    # 2 beats 4 and loses to 3, 0, 1. 3 beats 2, 4, 0 and equals 1. 4 loses to all four. 0 and 1 are only remembered.
    assert masses(fedacs, range(5)) == ([0.5, 1, 0.5, 1.5, 0], [0.5, 0, 1 + 1.5, 0, 2])
    fedacs.update(Feedback(3, np.empty(0, np.int64), {}, clients, failed={5: "no reply"}))
    fedacs.update(told(clients, [0, 3, 5], [[0], [1], [5]], index=4))
    # Rounds 2 and 3 are remembered: 2 at -4 and 4 at -5, both beaten by all. 1, last heard in round 1, is not met.
    # Rewards -2, -1, -3: 0 beats 5, 2, 4; 3 beats 0, 5, 2, 4; 5 beats 2, 4.
    assert masses(fedacs, range(6)) == ([0.5 + 1.5, 1, 0.5, 1.5 + 2, 0, 1], [0.5 + 0.5, 0, 2.5, 0, 2, 1])
    # Rounds 3 and 4 will be remembered in round 5: nobody else takes room.
    assert fedacs.past_.ids.tolist() == [0, 3, 5]


def test_without_history_nothing_is_remembered():
    clients = Clients(np.arange(3))
    fedacs = started("fedacs", clients)
    fedacs.update(told(clients, [0, 1, 2], [[0], [1], [5]]))
    assert len(fedacs.past_.ids) == 0


def test_notes_tell_the_mean_reward_of_the_round_before():
    clients = Clients(np.arange(3))
    fedacs = started("fedacs", clients)

    def noted():
        return fedacs.select(Round(1, clients.ids, clients, stream(0, "notes")), 2).notes.get("mean_reward_before")

    assert noted() is None
    fedacs.update(told(clients, [0, 1, 2], [[0], [1], [5]]))  # rewards -2, -1, -3
    assert noted() == -2
    fedacs.update(told(clients, [1], [[4]], index=2))  # alone, a client has no reward
    assert noted() is None
    fedacs.update(told(clients, [0, 1], [[4], [12]], index=3))  # both 4 from their mean
    assert noted() == -4
    assert fedacs.state()["mean_reward_"] == -4


@pytest.mark.parametrize(
    ("pool", "n", "k", "size"),
    [(0.4, 50, 5, 20), (0.4, 50, 25, 25), (0.4, 3, 5, 3), (1.0, 50, 5, 50), (0.01, 50, 5, 5), (0.05, 200, 10, 10)],
)
def test_pool_size(pool, n, k, size):
    clients = Clients(np.arange(n))
    fedacs = started(f"fedacs:pool={pool}", clients, k)
    cohort = fedacs.select(Round(1, clients.ids, clients, stream(0, "r")), k)
    assert cohort.notes["pool"] == size
    assert len(cohort.ids) == min(k, n)


def test_pool_of_k_takes_the_clear_winners():
    # Beta(1001, 1) against Beta(1, 1001): a loser overtakes a winner with a chance below 1e-300.
    clients = Clients(np.arange(20))
    fedacs = started("fedacs:pool=0.2", clients, 4)
    winners = np.array([3, 7, 12, 18])
    fedacs.wins_.set(winners, 1000.0)
    fedacs.losses_.set(np.setdiff1d(clients.ids, winners), 1000.0)
    for redraw in ("exact", "single"):
        fedacs.redraw = redraw
        cohort = fedacs.select(Round(1, clients.ids, clients, stream(0, redraw)), 4)
        assert sorted(cohort.ids.tolist()) == winners.tolist()
        np.testing.assert_allclose(cohort.scores["win_rate"], 1001 / 1002)


@pytest.mark.parametrize(("redraw", "expected"), [("exact", 4 / 9), ("single", 1 / 2)])
def test_drawing_anew_for_each_place_by_hand(redraw, expected):
    # Three clients, a pool of two; client 0 lost one duel, the others have none: Beta(1,2), Beta(1,1), Beta(1,1).
    # exact: 0 leads three with chance int 2(1-x) x^2 = 1/6 and two with int 2(1-x) x = 1/3,
    #        so it is left out with 5/6 * 2/3 = 5/9.
    # single: it is left out when it is the least of three, int 2(1-x) (1-x)^2 = 1/2.
    clients = Clients([0, 1, 2])
    fedacs = started(f"fedacs:redraw={redraw},pool=0.67", clients)
    fedacs.losses_.set(np.array([0]), 1.0)
    n, now = 5000, Round(1, clients.ids, clients, stream(0, "hand"))
    times_in = sum(0 in fedacs.select(now, 2).ids.tolist() for _ in range(n))
    # 4.9 standard errors, 0.035: once in 1e6. The two laws lie 0.056 apart.
    assert abs(times_in / n - expected) < 4.9 * np.sqrt(expected * (1 - expected) / n)


def test_pool_of_everyone_is_random_selection():
    clients = Clients(np.arange(5))
    fedacs = started("fedacs:pool=1", clients)
    fedacs.wins_.set(clients.ids, np.array([500.0, 0, 0, 40, 3]))
    fedacs.losses_.set(clients.ids, np.array([0.0, 300, 0, 1, 3]))
    n, now = 3000, Round(1, clients.ids, clients, stream(0, "one"))
    seen = Counter(tuple(sorted(fedacs.select(now, 2).ids.tolist())) for _ in range(n))
    # 10 pairs: chi-square with 9 degrees of freedom exceeds 44.81 once in 1e6.
    assert sum((seen[pair] - n / 10) ** 2 / (n / 10) for pair in combinations(range(5), 2)) < 44.81


def test_auto_says_which_law_it_used():
    # Two million Beta draws are the border: 0.4 * 2200^2 is below it, 0.4 * 2300^2 above.
    for n, exact in ((2200, 1.0), (2300, 0.0)):
        clients = Clients(np.arange(n))
        cohort = started("fedacs", clients).select(Round(1, clients.ids, clients, stream(0, "auto")), 10)
        assert cohort.notes == {"pool": 0.4 * n, "exact_redraw": exact}


def test_exact_refuses_what_would_take_too_long():
    # 0.4 * 2236^2 = 1,999,878 draws; 2237 clients would need more than two million.
    clients = Clients(np.arange(2237))
    with pytest.raises(InputError, match="fedacs is made for up to 2,236 clients, this federation has 2,237"):
        ask(started("fedacs:redraw=exact", clients), Round(1, clients.ids, clients, stream(0, "r")), 10)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("fedacs:pool=0", "pool must be above 0 and at most 1, got 0"),
        ("fedacs:pool=1.5", "pool must be above 0 and at most 1, got 1.5"),
        ("fedacs:eta=-1", "eta must be above 0 and finite, got -1"),
        ("fedacs:eta=inf", "eta must be above 0 and finite, got inf"),
        ("fedacs:history=-1", "history must be a whole number of rounds of at least 0, got -1"),
        ("fedacs:history=2.5", "history must be a whole number, got '2.5'"),
        ("fedacs:redraw=twice", "'exact' or 'single' or 'auto', got 'twice'"),
    ],
)
def test_bad_parameters_are_named(spec, message):
    with pytest.raises(UsageError, match=message):
        selector(spec)
