"""TiFL by hand: six clients in three tiers of two, from fast to slow."""

import numpy as np
import pytest

import callup.testing
from callup import Clients, Feedback, Plan, Round, selector, stream
from callup.core.errors import UsageError
from callup.core.randomness import client_uniforms

# Tiers by latency: {30, 5}, {40, 12}, {7, 21}.
CLIENTS = Clients([5, 7, 12, 21, 30, 40], latency=[2.0, 9.0, 4.0, 8.0, 1.0, 3.0])
TIER = {30: 0, 5: 0, 40: 1, 12: 1, 7: 2, 21: 2}


class Answers:
    """A probe that answers from a table and keeps what was heard, as a runtime does."""

    def __init__(self, accuracy):
        self.accuracy, self.heard = accuracy, {}

    def __call__(self, name, ids):
        answers = np.array([self.accuracy[client] for client in ids.tolist()], float)
        self.heard[name] = (ids, answers)
        return answers


def started(spec="tifl:tiers=3,interval=2", rounds=None, k=2, clients=CLIENTS):
    made = selector(spec)
    made.start(clients, Plan(k, rounds), stream(0, "start"))
    return made


def by_tier(*accuracies):
    """Both clients of a tier answer the same."""
    return {client: accuracies[tier] for client, tier in TIER.items()}


def play(made, index, accuracy, k=2, available=CLIENTS.ids, seed=0, clients=CLIENTS):
    """One round in which nobody's reply is lost."""
    probe = Answers(accuracy)
    chosen = made.select(Round(index, available, clients, stream(seed, index), probe), k)
    made.update(Feedback(index, chosen.ids, {}, clients, probed=probe.heard, notes=chosen.notes))
    return chosen


def test_a_cohort_comes_from_one_tier():
    made, drawn = started(), set()
    for seed in range(40):
        chosen = made.select(Round(2, CLIENTS.ids, CLIENTS, stream(seed)), 2)
        assert {TIER[client] for client in chosen.ids.tolist()} == {chosen.notes["tier"]}
        drawn.add(chosen.notes["tier"])
    assert drawn == {0.0, 1.0, 2.0}  # one missing: 3 (2/3)^40 = 3e-7


def test_each_tier_is_drawn_as_often_as_it_has_credits():
    # ceil(6 / 3) = 2 credits a tier: in six rounds each is drawn exactly twice, whatever the luck.
    for seed in range(10):
        made = started(rounds=6)
        tiers = [play(made, index, by_tier(0.1, 0.2, 0.3), seed=seed).notes["tier"] for index in range(1, 7)]
        assert sorted(tiers) == [0, 0, 1, 1, 2, 2]


def test_credits_are_rounded_up():
    assert started(rounds=7).credits_.tolist() == [3, 3, 3]


def test_without_a_number_of_rounds_there_is_no_limit():
    made = started(rounds=None)
    for index in range(1, 30):
        chosen = play(made, index, by_tier(0.1, 0.1, 0.1), available=np.array([5, 30]))
        assert chosen.notes["tier"] == 0
        assert "credits" not in chosen.notes


def test_a_credit_is_spent_though_every_reply_is_lost():
    made = started(rounds=6)
    chosen = made.select(Round(2, CLIENTS.ids, CLIENTS, stream(0)), 2)
    made.update(Feedback(2, [], {}, CLIENTS, failed=dict.fromkeys(chosen.ids.tolist(), "no reply"), notes=chosen.notes))
    expected = np.full(3, 2.0)
    expected[int(chosen.notes["tier"])] = 1
    assert made.credits_.tolist() == expected.tolist()


def test_out_of_credits_the_others_follow_and_then_anyone_online():
    made, fast = started(rounds=3), np.array([5, 30])  # one credit a tier
    assert play(made, 1, by_tier(0.5, 0.5, 0.5), available=fast).notes["tier"] == 0
    for seed in range(20):  # tier 0 has spent its own
        assert made.select(Round(2, CLIENTS.ids, CLIENTS, stream(seed)), 2).notes["tier"] != 0
    again = made.select(Round(2, fast, CLIENTS, stream(0)), 2)
    assert sorted(again.ids.tolist()) == [5, 30]
    assert again.notes["credits"] == 0


def test_chances_after_the_drawn_tier_stagnates():
    made, fast = started(), np.array([5, 30])
    play(made, 1, by_tier(0.5, 0.2, 0.9), available=fast)  # only tier 0 is there, is drawn and is measured: 0.5
    play(made, 2, {}, available=fast)
    # Round 3 measures all. Tier 0 did not improve: 0.5 again. Ascending 0.2 (tier 1), 0.5 (0), 0.9 (2) get 3, 2 and 1
    # of 3 * 4 / 2 = 6.
    play(made, 3, by_tier(0.5, 0.2, 0.9))
    np.testing.assert_allclose(made.chance_, [2 / 6, 3 / 6, 1 / 6], rtol=1e-15)


def test_the_round_that_measures_already_draws_by_the_new_chances():
    made, fast, counts, many = started(), np.array([5, 30]), np.zeros(3), 3000
    play(made, 1, by_tier(0.5, 0.2, 0.9), available=fast)
    for seed in range(many):
        probe = Answers(by_tier(0.5, 0.2, 0.9))
        counts[int(made.select(Round(3, CLIENTS.ids, CLIENTS, stream(seed, "draw"), probe), 2).notes["tier"])] += 1
    expected = many * np.array([2, 3, 1]) / 6
    # Chi-square with 2 degrees of freedom exceeds 27.63 once in 1e6.
    assert ((counts - expected) ** 2 / expected).sum() < 27.63
    assert made.chance_.tolist() == [1 / 3] * 3  # select looked and learned nothing


def test_chances_stay_while_the_drawn_tier_improves():
    made, fast = started(), np.array([5, 30])
    play(made, 1, by_tier(0.5, 0.2, 0.9), available=fast)
    play(made, 3, by_tier(0.6, 0.1, 0.8))
    assert made.chance_.tolist() == [1 / 3] * 3


def test_tiers_without_credits_get_no_chance():
    made, fast = started(rounds=3), np.array([5, 30])
    play(made, 1, by_tier(0.5, 0.2, 0.9), available=fast)  # spends tier 0's only credit
    play(made, 3, by_tier(0.4, 0.2, 0.9), available=np.array([5, 7, 12]))
    # Two tiers are left: 0.2 gets 2/3 and 0.9 gets 1/3.
    np.testing.assert_allclose(made.chance_, [0, 2 / 3, 1 / 3], rtol=1e-15)


def test_silence_is_neither_progress_nor_stagnation():
    made, fast, silence = started(), np.array([5, 30]), by_tier(np.nan, np.nan, np.nan)
    play(made, 1, by_tier(0.5, 0.2, 0.9), available=fast)
    play(made, 3, silence)
    assert made.chance_.tolist() == [1 / 3] * 3
    assert made.accuracy_[0] == 0.5
    made.current_ = 0
    # Client 5 alone answers for tier 0, and worse than before; tiers never heard of count as the least accurate.
    play(made, 5, silence | {5: 0.4})
    np.testing.assert_allclose(made.accuracy_, [0.4, np.nan, np.nan])
    assert made.chance_[0] == 1 / 6
    assert sorted(made.chance_[1:]) == [2 / 6, 3 / 6]


def test_a_small_tier_is_topped_up_from_the_next_and_round_again():
    made = started(k=5)
    for seed in range(60):
        chosen = made.select(Round(2, CLIENTS.ids, CLIENTS, stream(seed)), 5)
        first = int(chosen.notes["tier"])
        after = [TIER[client] for client in chosen.ids.tolist()]
        assert after == [first, first, (first + 1) % 3, (first + 1) % 3, (first + 2) % 3]
        assert len(set(chosen.ids.tolist())) == 5


def test_only_every_interval_asks_and_only_those_available():
    made = started("tifl:tiers=3,interval=3")
    for index in range(1, 9):
        probe = Answers(by_tier(0.1, 0.1, 0.1))
        made.select(Round(index, np.array([7, 30]), CLIENTS, stream(index), probe), 1)
        assert [ids.tolist() for ids, _ in probe.heard.values()] == ([[7, 30]] if index in (1, 4, 7) else [])


def test_tiers_by_accuracy_follow_the_latest_answers():
    clients = Clients([1, 2, 3, 4])
    made = started("tifl:tiers=2,interval=2,tier_by=accuracy", clients=clients)
    assert made.needs.names() == ["accuracy"]

    def members(index, accuracy):
        """Who is in which tier, as seen from cohorts of two."""
        found = {}
        for seed in range(30):
            now = Round(index, clients.ids, clients, stream(seed), Answers(accuracy))
            chosen = made.select(now, 2)
            found[int(chosen.notes["tier"])] = sorted(chosen.ids.tolist())
        return found  # a tier is missing with a chance of (2/3)^30 = 5e-6 at most

    assert members(1, {1: 0.9, 2: 0.1, 3: 0.8, 4: 0.3}) == {0: [2, 4], 1: [1, 3]}
    play(made, 1, {1: 0.9, 2: 0.1, 3: 0.8, 4: 0.3}, clients=clients, available=clients.ids)
    assert members(2, {}) == {0: [2, 4], 1: [1, 3]}
    # Client 4 answers 0.85, client 3 says nothing and keeps its 0.8.
    assert members(3, {1: 0.9, 2: 0.1, 3: np.nan, 4: 0.85}) == {0: [2, 3], 1: [1, 4]}


def test_equal_latencies_are_split_by_the_seed_not_by_ids():
    clients, splits = Clients(np.arange(8), latency=np.ones(8)), set()
    for seed in range(20):
        made = selector("tifl:tiers=2")
        made.start(clients, Plan(4), stream(seed, "start"))
        chosen = made.select(Round(2, clients.ids, clients, stream(0)), 4)
        splits.add(tuple(sorted(chosen.ids.tolist())))
    assert len(splits) > 1  # 70 splits are equally likely


@pytest.mark.parametrize("tier_by", ["latency", "accuracy"])
def test_every_check_passes_also_when_chances_are_set_anew(tier_by):
    # At the usual interval the checks see a single round that measures.
    callup.testing.check_selector(lambda: selector(f"tifl:tiers=3,interval=2,tier_by={tier_by}"))


@pytest.mark.parametrize("spec", ["tifl:tiers=0", "tifl:interval=0"])
def test_bad_settings_are_named(spec):
    with pytest.raises(UsageError, match="must be at least 1, got 0"):
        selector(spec)


@pytest.mark.parametrize("n", [1, 2, 4, 7, 60, 61, 1000])
@pytest.mark.parametrize("different", [1, 3, 40, 10**6])
def test_tiers_are_those_of_a_full_sort(n, different):
    """However many are equally fast: everyone is sorted by latency and luck, and cut into seven parts."""
    rng = stream(n, different)
    clients = Clients(3 * np.arange(n), latency=rng.integers(1, different + 1, n).astype(float))
    made = started("tifl:tiers=7", clients=clients)
    luck = client_uniforms(stream(made.key_, "clients"), clients.ids)
    ranked = sorted(range(n), key=lambda row: (clients.all("latency")[row], luck[row]))
    expected = {3 * row: rank * 7 // n for rank, row in enumerate(ranked)}
    chosen = made.select(Round(2, clients.ids, clients, stream(0)), n)
    assert dict(zip(chosen.ids.tolist(), chosen.scores["tier"].tolist(), strict=True)) == expected
