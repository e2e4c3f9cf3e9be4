"""Fed-CBS: Figure 3 by hand, exploration by hand, and the exact law of Case 2."""

import math
from collections import Counter, defaultdict

import numpy as np
import pytest

from callup import Clients, Feedback, Plan, Round, selector, stream
from callup.core.errors import InputError, UsageError

# Figure 3: four clients of 30 images, six classes.
FIGURE_3 = [[5, 5, 5, 5, 5, 5], [6, 6, 6, 6, 6, 0], [0, 0, 0, 10, 10, 10], [10, 10, 10, 0, 0, 0]]


def started(spec, clients, classes=None):
    made = selector(spec)
    made.start(clients, Plan(k=3, classes=classes), stream(0, "start"))
    return made


def test_figure_3_by_hand():
    # Round 1, so no bonus; beta_m = m.
    # m=1: QCID of C1 is 0, raised to 1e-20: weight 1e20 against 30 (C2), 6 (C3) and 6 (C4). C1 it is.
    # m=2: C2 gives (11*5, 5)/60: (5*1^2 + 5^2)/60^2 = 1/120, weight 120^2; C3 and C4 give 6*5^2/60^2 = 1/24,
    #      weight 24^2 each. Chances 25/27, 1/27, 1/27.
    # m=3: after C2, C3 leaves 120/8100 and C4 240/8100: weights 2^3 to 1. Chances 8/9, 1/9.
    #      after C3 or C4, the other of the two leaves 0: certain.
    clients = Clients([1, 2, 3, 4], label_counts=FIGURE_3)
    chances = {(1, 2, 3): 25 / 27 * 8 / 9, (1, 2, 4): 25 / 27 * 1 / 9, (1, 3, 4): 2 / 27}
    assert sum(chances.values()) == pytest.approx(1)
    fed_cbs, n = started("fed-cbs", clients), 2000
    now, seen = Round(1, clients.ids, clients, stream(0, "figure")), Counter()
    for _ in range(n):
        cohort = fed_cbs.select(now, 3)
        seen[tuple(sorted(cohort.ids.tolist()))] += 1
        if set(cohort.ids.tolist()) == {1, 3, 4}:
            assert cohort.notes["qcid"] == 0.0
            assert cohort.scores["qcid"][:2] == pytest.approx([0, 1 / 24])
        elif set(cohort.ids.tolist()) == {1, 2, 3}:
            assert cohort.notes["qcid"] == pytest.approx(120 / 8100)
    assert seen.keys() <= chances.keys()
    # Chi-square with 2 degrees of freedom exceeds 27.63 once in 1e6.
    assert sum((seen[c] - n * p) ** 2 / (n * p) for c, p in chances.items()) < 27.63


def test_exploration_by_hand():
    # Two clients of one class each: QCID 1/2, weight 2. In round 3 the bonus is 10 sqrt(3 ln 3 / (2 T)). Client 5
    # was selected three times, so T = 4 and its bonus is half that of client 6, with T = 1. It replied only once:
    # being selected is what counts.
    clients = Clients([5, 6], label_counts=[[4, 0], [0, 4]])
    fed_cbs = started("fed-cbs", clients)
    fed_cbs.update(Feedback(1, np.array([5]), {}, clients))
    for index in (2, 3):
        fed_cbs.update(Feedback(index, np.empty(0, np.int64), {}, clients, failed={5: "no reply"}))
    bonus = 10 * math.sqrt(3 * math.log(3) / 2)
    expected = (2 + bonus) / (2 + bonus + 2 + bonus / 2)
    assert expected == pytest.approx(0.638, abs=0.0005)
    now, n = Round(3, clients.ids, clients, stream(0, "explore")), 2000
    share = sum(int(fed_cbs.select(now, 1).ids[0]) == 6 for _ in range(n)) / n
    # 4.9 standard errors, 0.053: once in 1e6. Without the counts the share would be 0.5.
    assert abs(share - expected) < 4.9 * math.sqrt(expected * (1 - expected) / n)


def exact_path(available, scale, picks=10):
    """Mean and variance of QCID after each pick from single-class clients of equal size, over every way to pick.

    A Markov chain on how many clients of each class were taken. Classes with equally many available clients are
    alike, so a state is sorted within each half.
    """
    states, path = {(0,) * 10: 1.0}, []
    for m in range(1, picks + 1):
        after = defaultdict(float)
        values = {}
        for state, chance in states.items():
            log_weights = {}
            for b in range(10):
                taken = list(state)
                taken[b] += 1
                if taken[b] <= available[b]:
                    q = (10 * sum(x * x for x in taken) - m * m) / (10 * m * m)
                    log_weights[b] = math.log(available[b] - state[b]) - scale * m * math.log(max(q, 1e-20))
                    values[tuple(sorted(taken[:5]) + sorted(taken[5:]))] = q
            top = max(log_weights.values())
            total = sum(math.exp(w - top) for w in log_weights.values())
            for b, w in log_weights.items():
                taken = list(state)
                taken[b] += 1
                after[tuple(sorted(taken[:5]) + sorted(taken[5:]))] += chance * math.exp(w - top) / total
        states = after
        mean = sum(chance * values[s] for s, chance in states.items())
        path.append((mean, sum(chance * (values[s] - mean) ** 2 for s, chance in states.items())))
    return path


CASE_2 = {"3:1": [9] * 5 + [3] * 5, "5:1": [10] * 5 + [2] * 5}


@pytest.mark.parametrize(
    ("ratio", "scale", "times_100"),
    [("3:1", 1.0, 0.4872), ("5:1", 1.0, 0.7251), ("3:1", 3.5, 0.0017), ("5:1", 3.5, 0.0021)],
)
def test_case_2(ratio, scale, times_100):
    path = exact_path(CASE_2[ratio], scale)
    assert round(100 * path[-1][0], 4) == times_100
    # The selector itself, on the 60 available clients of one round; the first round has no bonus.
    classes = np.repeat(np.arange(10), CASE_2[ratio])
    clients = Clients(np.arange(60), label_counts=25 * np.eye(10)[classes])
    fed_cbs, now, n = started(f"fed-cbs:scale={scale}", clients), Round(1, range(60), clients, stream(0, ratio)), 400
    reached = np.array([fed_cbs.select(now, 10).scores["qcid"] for _ in range(n)])
    if scale == 1:
        # 4.9 standard errors at each of ten picks: once in 1e5.
        for m, (mean, variance) in enumerate(path):
            assert abs(reached[:, m].mean() - mean) <= 4.9 * math.sqrt(variance / n) + 1e-12
    else:
        # The least imbalance above zero is 0.02, so about one cohort in a thousand is not balanced: 0.4 of 400 are
        # expected, and more than 7 come once in 1e7.
        assert (reached[:, -1] > 0).sum() <= 7


def random_federation(seed, n=40):
    rng = stream(seed, "federation")
    counts = rng.integers(0, 60, (n, 6)) * rng.integers(0, 2, (n, 6))
    counts[:, 0] += 1
    return np.sort(rng.choice(1000, n, replace=False)), counts


@pytest.mark.parametrize("seed", range(5))
def test_inner_products_give_the_same_cohorts_as_counts(seed):
    ids, counts = random_federation(seed)
    plain = Clients(ids, label_counts=counts)
    private = Clients(ids, label_gram=counts @ counts.T, num_examples=counts.sum(axis=1))
    one, two = started("fed-cbs", plain), started("fed-cbs", private, classes=6)
    for index in range(1, 6):
        here = stream(seed, "here", index).choice(ids, 25, replace=False)
        a = one.select(Round(index, here, plain, stream(seed, "r", index)), 8)
        b = two.select(Round(index, here, private, stream(seed, "r", index)), 8)
        assert a.ids.tolist() == b.ids.tolist()
        np.testing.assert_array_equal(a.scores["qcid"], b.scores["qcid"])
        one.update(Feedback(index, a.ids, {}, plain))
        two.update(Feedback(index, b.ids, {}, private))


def test_the_reported_imbalance_is_that_of_the_cohort():
    ids, counts = random_federation(0)
    clients = Clients(ids, label_counts=counts)
    cohort = started("fed-cbs", clients).select(Round(1, ids, clients, stream(0, "r")), 5)
    for m in range(1, 6):
        pooled = clients.of("label_counts", cohort.ids[:m]).sum(axis=0)
        assert cohort.scores["qcid"][m - 1] == pytest.approx(sum((x / pooled.sum() - 1 / 6) ** 2 for x in pooled))
    assert cohort.notes["qcid"] == cohort.scores["qcid"][-1]


def test_presets_state_the_exponent():
    clients = Clients([1, 2], label_counts=[[1, 0], [0, 1]])
    for spec, scale, offset in (("fed-cbs", 1, 0), ("fed-cbs:sharp", 3.5, 0), ("fed-cbs:shifted", 1, 9)):
        notes = started(spec, clients).select(Round(1, clients.ids, clients, stream(0, "r")), 2).notes
        assert notes == {"scale": scale, "offset": offset, "qcid": 0.0}


def test_perfect_balance_all_the_way_stays_finite():
    # Every set has QCID 0; at m = 300 the weight 1e-20^-1050 has 21000 digits.
    clients = Clients(np.arange(300), label_counts=np.full((300, 3), 7))
    cohort = started("fed-cbs:sharp", clients).select(Round(9, clients.ids, clients, stream(0, "r")), 300)
    assert sorted(cohort.ids.tolist()) == list(range(300))
    assert not cohort.scores["qcid"].any()


def test_a_client_without_samples_comes_last():
    clients = Clients([1, 2, 3], label_counts=[[5, 0], [0, 0], [0, 4]])
    fed_cbs = started("fed-cbs", clients)
    for index in range(1, 20):
        assert fed_cbs.select(Round(index, clients.ids, clients, stream(0, "r", index)), 3).ids[2] == 2
    alone = fed_cbs.select(Round(1, [2], clients, stream(0, "r")), 1)
    assert alone.ids.tolist() == [2]
    assert "qcid" not in alone.notes


def test_inner_products_alone_need_the_number_of_classes():
    clients = Clients([1, 2], label_gram=[[4, 0], [0, 4]], num_examples=[2, 2])
    with pytest.raises(InputError, match="set classes in the plan"):
        started("fed-cbs", clients)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("fed-cbs:scale=-1", "scale must not be negative and must be finite, got -1"),
        ("fed-cbs:scale=0", r"scale \+ offset, the first exponent, must be above 0 and finite, got 0"),
        ("fed-cbs:offset=-2", r"scale \+ offset, the first exponent, must be above 0 and finite, got -1"),
        ("fed-cbs:offset=inf", r"scale \+ offset, the first exponent, must be above 0 and finite, got inf"),
        ("fed-cbs:explore=-1", "explore must not be negative and must be finite, got -1"),
        ("fed-cbs:floor=0", "floor must lie between 0 and 1, got 0"),
        ("fed-cbs:shrap", "did you mean 'sharp'"),
    ],
)
def test_bad_parameters_are_named(spec, message):
    with pytest.raises(UsageError, match=message):
        selector(spec)
