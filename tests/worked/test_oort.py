"""Oort: scores, draws, pacer and cap by hand; every fault known of its public copies is a test here."""

import math

import numpy as np
import pytest

from callup import Clients, Feedback, Plan, Round, selector, stream
from callup.analytics.oort_pacer import Pacer
from callup.core.errors import InputError, UsageError
from callup.core.verify import ask

PRESETS = ["oort", "oort:fedscale", "oort:oort-repo"]
NOBODY = np.empty(0, np.int64)


def started(spec, clients, k=4):
    made = selector(spec)
    made.start(clients, Plan(k=k), stream(0, "start"))
    return made


def reply(index, clients, ids, loss, **signals):
    signals = {name: np.asarray(value, float) for name, value in signals.items()}
    return Feedback(index, np.asarray(ids), {"loss_rms": np.asarray(loss, float), **signals}, clients)


def now(index, clients, ids=None, path="r"):
    return Round(index, clients.ids if ids is None else ids, clients, stream(0, "oort", path, index))


def everyone(made, index, clients, path="all"):
    """The parts of every client's score, by id."""
    cohort = made.select(now(index, clients, path=path), len(clients))
    order = np.argsort(cohort.ids)
    return {name: part[order] for name, part in cohort.scores.items()}


FOUR = Clients([3, 5, 7, 9], num_examples=[10, 10, 20, 20])


def test_scores_by_hand():
    # U = n * rms: 10, 20, 30, 40. Cut: of 4 values int(4 * 0.95) = 3 would be the largest, so the second largest, 30.
    # Scale: 0.999 * 10 = 9.99 is 0 and 30 is 1.
    made = started("oort:step=10", FOUR)
    made.update(reply(1, FOUR, [5, 3], [2, 1], duration=[20, 10]))
    made.update(reply(2, FOUR, [7], [1.5], duration=[20]))
    made.update(reply(4, FOUR, [9], [2], duration=[40]))
    parts = everyone(made, 5, FOUR)
    assert parts["utility"] == pytest.approx([0.01 / 20.01, 10.01 / 20.01, 1, 1])
    # sqrt(0.1 ln 5 / L) with L = 1, 1, 2, 4.
    bonus = math.sqrt(0.1 * math.log(5))
    assert parts["uncertainty"] == pytest.approx([bonus, bonus, bonus / math.sqrt(2), bonus / 2])
    # T = 10 s: (10 / 20)^2 twice and (10 / 40)^2 for the three that are slower.
    assert parts["speed"].tolist() == [1, 1 / 4, 1 / 4, 1 / 16]
    assert parts["score"] == pytest.approx((parts["utility"] + parts["uncertainty"]) * parts["speed"])
    assert parts["new"].tolist() == [0, 0, 0, 0]
    notes = made.select(now(5, FOUR), 2).notes
    assert notes["preferred_seconds"] == 10
    assert notes["slow"] == 0.75
    assert (notes["explored"], notes["resting"]) == (0, 0)


def test_a_new_client_is_worth_its_size_times_its_speed():
    clients = Clients([1, 2, 3], num_examples=[30, 20, 10], latency=[40, 10, 20])
    parts = everyone(started("oort:step=20", clients), 1, clients)
    assert parts["utility"].tolist() == [30, 20, 10]
    assert parts["score"].tolist() == [30 / 4, 20, 10]
    assert parts["new"].tolist() == [1, 1, 1]


def test_measured_time_replaces_the_profile():
    clients = Clients([1, 2], num_examples=[1, 1], latency=[40, 40])
    made = started("oort:step=20", clients)
    made.update(reply(1, clients, [2], [1], duration=[10]))
    assert everyone(made, 2, clients)["speed"].tolist() == [1 / 4, 1]


def test_without_any_time_the_system_term_is_inert():
    parts = []
    for alpha in (0, 2, 50):
        made = started(f"oort:alpha={alpha},step=1e-9", FOUR)
        made.update(reply(1, FOUR, [3, 5, 7], [1, 2, 3]))
        cohort = made.select(now(2, FOUR), 4)
        assert cohort.scores["speed"].tolist() == [1, 1, 1, 1]
        assert "preferred_seconds" not in cohort.notes
        parts.append(cohort.ids.tolist())
    assert parts[0] == parts[1] == parts[2]


def test_the_percentile_is_taken_over_all_clients():
    # 30 % of ten durations 1..10: position int(3.0) from below, 4 s. Clients that are away count too.
    clients = Clients(np.arange(10), num_examples=np.ones(10), latency=np.arange(10, 0, -1.0))
    made = started("oort:percentile=30", clients)
    cohort = made.select(now(1, clients, ids=[0, 9]), 2)
    assert cohort.notes["preferred_seconds"] == 4
    assert cohort.notes["slow"] == 0.6
    assert dict(zip(cohort.ids.tolist(), cohort.scores["speed"].tolist(), strict=True)) == {0: 0.4**2, 9: 1}
    for spec in ("oort:percentile=100", "oort:alpha=0"):
        assert (everyone(started(spec, clients), 1, clients)["speed"] == 1).all()


# ---- the draws ----


def test_known_clients_are_drawn_by_score_above_the_cut_off():
    # Round 1 has no bonus: scores are the scaled utilities. U = 1..5, quantile 1 cuts nothing; scale from 0.999 to 5.
    clients = Clients([1, 2, 3, 4, 5], num_examples=np.ones(5))
    made = started("oort:clip=1,cutoff=0.5,explore=0,explore_min=0", clients)
    made.update(reply(1, clients, clients.ids, [1, 2, 3, 4, 5]))
    score = (np.arange(1, 6) - 0.999) / (5 - 0.999)
    # One place: the cut-off is half of the best score, 0.5. Scores are 0.0002, 0.25, 0.5001, 0.75 and 1: three pass.
    assert (score >= 0.5).tolist() == [False, False, True, True, True]
    n, counts, here = 1500, np.zeros(6), now(1, clients)
    for _ in range(n):
        counts[made.select(here, 1).ids[0]] += 1
    assert counts[:3].sum() == 0
    expected = n * score[2:] / score[2:].sum()
    # Chi-square with 2 degrees of freedom exceeds 27.63 once in 1e6.
    assert ((counts[3:] - expected) ** 2 / expected).sum() < 27.63
    # Two places: half of the second best, 0.375. The same three pass, one of them stays out.
    seen = {tuple(sorted(made.select(here, 2).ids.tolist())) for _ in range(100)}
    assert seen == {(3, 4), (3, 5), (4, 5)}


def test_a_pool_keeps_more_candidates_than_the_cut_off():
    clients = Clients([1, 2, 3, 4, 5], num_examples=np.ones(5))
    made = started("oort:clip=1,cutoff=1,explore=0,explore_min=0,pool=3", clients)
    made.update(reply(1, clients, clients.ids, [1, 2, 3, 4, 5]))
    here = now(1, clients)
    assert {int(made.select(here, 1).ids[0]) for _ in range(100)} == {3, 4, 5}


def test_new_clients_are_drawn_by_size_from_a_window():
    # One place, window 3: the three largest of five, in proportion 4 : 3 : 2.
    clients = Clients([1, 2, 3, 4, 5], num_examples=[1, 4, 1, 3, 2])
    made, n, counts, here = started("oort:sample_window=3", clients), 1500, np.zeros(6), now(1, clients)
    for _ in range(n):
        counts[made.select(here, 1).ids[0]] += 1
    assert counts[[1, 3]].sum() == 0
    expected = n * np.array([4, 3, 2]) / 9
    # Chi-square with 2 degrees of freedom exceeds 27.63 once in 1e6.
    assert ((counts[[2, 4, 5]] - expected) ** 2 / expected).sum() < 27.63


def test_epsilon_falls_once_a_round_whoever_replied():
    clients = Clients(np.arange(100), num_examples=np.ones(100))
    made = started("oort", clients)
    made.update(reply(1, clients, np.arange(20), np.ones(20)))
    made.update(Feedback(2, NOBODY, {}, clients, failed={5: "no reply"}))
    made.update(Feedback(3, NOBODY, {}, clients))
    cohort = made.select(now(4, clients), 10)
    assert cohort.notes["epsilon"] == pytest.approx(0.9 * 0.98**3)  # 0.847: 8 of 10 places
    assert cohort.scores["new"].sum() == cohort.notes["explored"] == 8
    # 0.9 * 0.98^n falls to 0.2 at n = 74.4.
    for index in range(4, 78):
        made.update(Feedback(index, NOBODY, {}, clients))
        assert (made.epsilon_ > 0.2) == (index < 75)
    assert made.select(now(78, clients), 10).notes["explored"] == 2


def test_places_that_one_kind_cannot_fill_go_to_the_other():
    clients = Clients(np.arange(20), num_examples=np.ones(20))
    # Three known, epsilon 0.2: 8 of 10 places would be theirs, five more new ones fill up.
    made = started("oort:explore=0.2", clients)
    made.update(reply(1, clients, [0, 1, 2], [1, 1, 1]))
    assert made.select(now(2, clients), 10).scores["new"].sum() == 7
    # Two new ones, epsilon 0.9: 9 places would be theirs.
    made = started("oort:explore_min=0.9", clients)
    made.update(reply(1, clients, np.arange(18), np.ones(18)))
    cohort = made.select(now(2, clients), 10)
    assert cohort.scores["new"].sum() == 2
    assert set(cohort.ids[-2:].tolist()) == {18, 19}
    # A newcomer is explored at once, although everyone else is known.
    made.update(reply(2, clients, [18, 19], [1, 1]))
    joined = Clients(np.arange(21), num_examples=np.ones(21))
    made.roster(joined, stream(0, "roster"))
    assert 20 in made.select(now(3, joined), 10).ids


# ---- the pacer ----


def test_the_pacer_of_the_paper_by_hand():
    pacer = Pacer(step=20, window=2)
    assert pacer.first == pacer.preferred(20, np.empty(0)) == 20
    # Nothing happens before two windows are full.
    assert pacer.moved(20, np.array([5.0, 1, 1]))[0] == 20
    # 5 + 1 > 1 + 1: utility fell, T grows. The window before is forgotten.
    pace, left = pacer.moved(20, np.array([5.0, 1, 1, 1]))
    assert (pace, left.tolist()) == (40, [1, 1])
    # Equal or rising: T stays.
    assert pacer.moved(40, np.array([1.0, 1, 1, 1]))[0] == 40
    assert pacer.moved(40, np.array([1.0, 1, 9, 9]))[0] == 40


@pytest.mark.parametrize(
    ("before", "after", "pace"),
    [
        (10, 10, 35),  # flat
        (10, 11, 35),  # within 10 %
        (10, 9, 35),
        (10, 12, 30),  # neither flat nor sharp
        (10, 0, 30),
        (10, 59, 30),
        (10, 60, 25),  # five times
        (0, 0, 35),
    ],
)
def test_the_pacer_of_the_code_by_hand(before, after, pace):
    assert Pacer(step=5, window=1, percentile=30).moved(30, np.array([before, after], float))[0] == pace


def test_the_percentile_stays_between_a_step_and_100():
    pacer = Pacer(step=5, window=1, percentile=30)
    assert pacer.moved(98, np.array([1.0, 1]))[0] == 100
    assert pacer.moved(7, np.array([1.0, 9]))[0] == 5
    assert pacer.preferred(100, np.arange(10.0)) == np.inf
    assert pacer.preferred(99.9, np.arange(10.0)) == 9
    assert pacer.preferred(30, np.empty(0)) == np.inf


def test_the_pacer_watches_known_clients_alone():
    # Window 1, step 3: T is 3 until the mean utility of known clients falls from one round to the next.
    made = started("oort:window=1,step=3,clip=1", FOUR)
    feedbacks = [
        (reply(1, FOUR, [3, 5], [9, 9], duration=[1, 1]), 3),  # both new
        (reply(2, FOUR, [3, 7], [2, 0.1], duration=[1, 1]), 3),  # 3 is known: 20. First entry
        (Feedback(3, NOBODY, {}, FOUR, failed={3: "no reply"}), 3),  # skipped
        (reply(4, FOUR, [9], [0.1], duration=[1]), 3),  # new, skipped
        (reply(5, FOUR, [3, 5], [1, 2], duration=[1, 1]), 6),  # 10 and 20: mean 15, below 20
        (reply(6, FOUR, [7], [2], duration=[1]), 6),  # 40, above 15
        (reply(7, FOUR, [7], [1.5], duration=[1]), 9),  # 30, below 40
    ]
    for feedback, seconds in feedbacks:
        made.update(feedback)
        assert made.select(now(feedback.index + 1, FOUR), 2).notes.get("preferred_seconds") == seconds


# ---- what goes wrong elsewhere ----


@pytest.mark.parametrize("spec", [*PRESETS, "oort:cap=1", "oort:oort-repo,cap=2,cap_share=1"])
@pytest.mark.parametrize("half", [False, True])
def test_exactly_k_distinct_clients_and_never_the_same_few_for_ever(spec, half):
    # Copies name 5 to 8 of 10, some twice, or fail when half of the clients take turns, with the cap switched on, and
    # in the first round. Once all are explored one of them trains the same eight clients in every later round.
    rng = stream(0, "utility")
    clients = Clients(np.arange(50) * 3 + 7, num_examples=rng.integers(5, 50, 50), latency=rng.random(50) * 40)
    made, late = started(spec, clients, 10), set()
    for index in range(1, 81):
        here = clients.ids[index % 2 :: 2] if half else clients.ids
        cohort = ask(made, now(index, clients, here, spec), 10)
        assert len(cohort.ids) == len(set(cohort.ids.tolist())) == 10
        assert set(cohort.ids.tolist()) <= set(here.tolist())
        late |= set(cohort.ids.tolist()) if index > 60 else set()
        loss = 1 + cohort.ids / 150  # the same for a client in every round
        made.update(reply(index, clients, cohort.ids, loss, duration=clients.of("latency", cohort.ids)))
    assert made.utility_.knows(clients.ids).all()
    assert len(late) >= 20


@pytest.mark.parametrize("spec", PRESETS)
def test_all_utilities_are_zero(spec):
    clients = Clients(np.arange(30), num_examples=np.ones(30))
    made = started(spec, clients)
    for index in range(1, 30):
        cohort = ask(made, now(index, clients), 8)
        assert np.isfinite(cohort.scores["score"]).all()
        made.update(reply(index, clients, cohort.ids, np.zeros(8), duration=np.zeros(8)))
    assert len(made.utility_.ids) == 30


@pytest.mark.parametrize("n", [3, 5, 12, 50])
@pytest.mark.parametrize("spec", PRESETS)
def test_one_huge_utility_leaves_the_order_of_the_others(spec, n):
    # Scaling by the largest utility, cut or not, would press all others to 0: 1e30 of one client is enough.
    clients = Clients(np.arange(n), num_examples=np.full(n, 10.0))
    honest = 1 + stream(1, "honest").permutation(n) / n
    lying = honest.copy()
    lying[0] = 1e30
    score = []
    for loss in (honest, lying):
        made = started(spec, clients)
        made.update(reply(1, clients, clients.ids, loss))
        score.append(everyone(made, 2, clients)["utility"][1:])
    plain, poisoned = score
    for i in range(n - 1):
        for j in range(n - 1):
            if plain[i] < plain[j]:
                assert poisoned[i] <= poisoned[j]
    # The cut moves by one place at most, so at most one honest client more than before is cut, and none is pressed
    # to 0: the next lower one still stands out.
    assert (poisoned == 1).sum() <= (plain == 1).sum() + 1
    spread = np.sort(poisoned)
    assert (np.diff(spread[spread < 1]) > 0.9 / n).all()


def test_one_huge_utility_does_not_steer_the_pacer():
    clients = Clients(np.arange(10), num_examples=np.ones(10))
    made = started("oort:window=1", clients)
    made.update(reply(1, clients, clients.ids, np.ones(10)))
    made.update(reply(2, clients, [0, 1], [1e30, 1]))  # cut at 1: a mean of 1
    made.update(reply(3, clients, [2, 3], [1, 1]))  # 1 again; T would grow had 5e29 been remembered
    assert made.pace_ == 20


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0])
def test_one_bad_reply_is_refused_and_changes_nothing(bad):
    made = started("oort", FOUR)
    made.update(reply(1, FOUR, [3, 5], [1, 2]))
    before = made.state()
    with pytest.raises(InputError, match="round 2, client 7: loss_rms must be a finite number of at least 0"):
        made.update(reply(2, FOUR, [3, 7], [1, bad]))
    with pytest.raises(InputError, match="unknown client 4"):
        made.update(reply(2, FOUR, [4], [1]))
    with pytest.raises(InputError, match="carry no 'loss_rms'"):
        made.update(Feedback(2, np.array([3]), {}, FOUR))
    assert before.keys() == made.state().keys()
    assert all(np.array_equal(before[name], value) for name, value in made.state().items())


def test_clients_above_the_cap_rest_thirty_in_a_hundred_at_most():
    clients = Clients(np.arange(10), num_examples=np.ones(10))
    made = started("oort:explore=0,explore_min=0", clients)
    # Clients 0 and 1 report 11 times, 2 reports 10 times, the others once.
    for index in range(1, 12):
        ids = [0, 1, *([2] if index < 11 else []), *(range(3, 10) if index == 1 else [])]
        made.update(reply(index, clients, ids, np.ones(len(ids))))
    cohort = made.select(now(12, clients), 8)
    assert sorted(cohort.ids.tolist()) == [2, 3, 4, 5, 6, 7, 8, 9]
    assert cohort.notes["resting"] == 2
    # Nine wanted: one of the two comes back.
    assert {0, 1} & set(made.select(now(12, clients), 9).ids.tolist())
    # Now five are above it; three of ten may rest, those who took part most.
    for index in range(12, 23):
        made.update(reply(index, clients, [0, 1, 2, 3, 4], np.ones(5)))
    cohort = made.select(now(23, clients), 7)
    assert sorted(cohort.ids.tolist()) == [3, 4, 5, 6, 7, 8, 9]
    assert cohort.notes["resting"] == 3


def test_being_asked_without_a_reply_does_not_count():
    made = started("oort:cap=1,cap_share=1", FOUR)
    for index in range(1, 6):
        loss = {"loss_rms": np.array([1.0])}
        made.update(Feedback(index, np.array([7]), loss, FOUR, failed={3: "no reply", 5: "not needed"}))
    cohort = made.select(now(6, FOUR), 4)
    assert cohort.ids[3] == 7
    assert cohort.scores["new"].tolist() == [1, 1, 1, 0]
    assert cohort.notes["resting"] == 1


# ---- parameters ----


def test_published_constants():
    names = ("explore", "decay", "explore_min", "clip", "cutoff", "alpha", "percentile", "step", "window", "cap")
    table = {
        "oort": (0.9, 0.98, 0.2, 0.95, 0.95, 2, None, 20, 20, 10),
        "oort:paper": (0.9, 0.98, 0.2, 0.95, 0.95, 2, None, 20, 20, 10),
        "oort:fedscale": (0.9, 0.98, 0.3, 0.9, 0.05, 2, 30, 5, 20, None),
        "oort:oort-repo": (0.9, 0.95, 0.2, 0.98, 0.7, 2, 10, 5, 20, None),
    }
    for spec, constants in table.items():
        assert tuple(getattr(selector(spec), name) for name in names) == constants


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("oort:explore=1.1", "explore must be a share from 0 to 1, got 1.1"),
        ("oort:cutoff=2", "cutoff must be a share from 0 to 1, got 2"),
        ("oort:explore=0.1", "explore_min is 0.2, above explore, 0.1"),
        ("oort:alpha=-1", "alpha must be at least 0 and finite, got -1"),
        ("oort:sample_window=0.5", "sample_window must be at least 1 and finite, got 0.5"),
        ("oort:step=0", "step must be above 0 and finite, got 0"),
        ("oort:percentile=101", "percentile must lie between 0 and 100, got 101"),
        ("oort:window=0", "oort: window must be a whole number of at least 1, got 0"),
        ("oort:cap=0", "oort: cap must be a whole number of at least 1, got 0"),
        ("oort:fedscal", "did you mean 'fedscale'"),
    ],
)
def test_bad_parameters_are_named(spec, message):
    with pytest.raises(UsageError, match=message):
        selector(spec)
