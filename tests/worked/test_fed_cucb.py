"""Fed-cucb by hand on two classes: estimates, rewards, the sweep, the bonus and the greedy rest."""

import math

import numpy as np
import pytest

import callup
from callup.core.errors import InputError, UsageError

CLIENTS = callup.Clients([10, 20, 30, 40], num_examples=[1, 1, 1, 100])
# R is (1/2, 1/2), (9/10, 1/10), (1/10, 9/10), (3/4, 1/4).
PULLS = {10: (1.0, 1.0), 20: (1.0, 9.0), 30: (9.0, 1.0), 40: (1.0, 3.0)}
ENTROPY = {
    10: math.log(2),
    20: -(math.log(0.9) + math.log(0.1)) / 2,
    30: -(math.log(0.9) + math.log(0.1)) / 2,
    40: -(math.log(0.75) + math.log(0.25)) / 2,
}


def started(spec="fed-cucb", clients=CLIENTS, seed=0):
    selector = callup.selector(spec)
    selector.start(clients, callup.Plan(2, classes=2), callup.stream(seed, "start"))
    return selector


def select(selector, index, k, available=None, clients=CLIENTS, seed=0):
    ids = clients.ids if available is None else np.array(available)
    return selector.select(callup.Round(index, ids, clients, callup.stream(seed, index)), k)


def told(selector, index, ids, pulls=PULLS, failed=(), clients=CLIENTS):
    signals = {"class_gradients": np.array([pulls[i] for i in ids], float).reshape(len(ids), 2)}
    missing = dict.fromkeys(failed, "no reply")
    selector.update(callup.Feedback(index, np.array(ids, np.int64), signals, clients, missing))


def test_the_sweep_calls_everybody_once():
    for seed in range(20):
        selector, seen = started(), []
        for index in (1, 2):
            chosen = select(selector, index, 2, seed=seed)
            assert chosen.notes["swept"] == 2
            assert np.isinf(chosen.scores["reward"]).all()
            seen += chosen.ids.tolist()
            told(selector, index, chosen.ids.tolist())
        assert sorted(seen) == [10, 20, 30, 40]
        assert select(selector, 3, 2, seed=seed).notes["swept"] == 0


def test_then_the_most_balanced_and_those_that_balance_it():
    # All rewards share one bonus. First 10, r = 1/ln 2. With it 40 leaves (5/8, 3/8) and CE 0.725, 20 and 30 leave
    # (7/10, 3/10) and 0.780. Then 30 leaves (1.35, 1.65)/3, 20 (2.15, 0.85)/3.
    selector = started()
    told(selector, 1, [20, 10, 40, 30])
    chosen = select(selector, 2, 4)
    assert chosen.ids.tolist() == [10, 40, 30, 20]
    np.testing.assert_allclose(chosen.scores["reward"], [1 / ENTROPY[i] for i in (10, 40, 30, 20)])
    np.testing.assert_allclose(chosen.scores["bonus"], 0.2 * math.sqrt(3 * math.log(2) / 2))
    expected = [math.log(2), -(math.log(5 / 8) + math.log(3 / 8)) / 2, -(math.log(0.45) + math.log(0.55)) / 2]
    np.testing.assert_allclose(chosen.scores["cross_entropy"][:3], expected)
    assert chosen.notes["cross_entropy"] == pytest.approx(-(math.log(2.25 / 4) + math.log(1.75 / 4)) / 2)


def test_by_size_a_large_client_weighs_more():
    # Beside (1/2, 1/2) the 100 samples of client 40 make (75.5, 25.5)/101 and CE 0.834; 20 and 30 make 0.780.
    selector = started("fed-cucb:pool=size")
    told(selector, 1, [20, 10, 40, 30])
    chosen = select(selector, 2, 2).ids
    assert chosen[0] == 10
    assert chosen[1] in (20, 30)
    assert selector.needs.names() == ["class_gradients", "num_examples"]
    assert started().needs.names() == ["class_gradients"]


@pytest.mark.parametrize(("spec", "first"), [("fed-cucb", 10), ("fed-cucb:released", 20)])
def test_the_bonus_of_those_rarely_asked(spec, first):
    # At t = 100: 20 was asked once, r = 0.831 and sqrt(3 ln 100 / 2) = 2.628; 10 fifty times, r = 1.443 and 0.372.
    # 0.2 of it leaves 10 ahead, 1.517 to 1.356; 0.8 puts 20 ahead, 2.933 to 1.740. 30 and 40 are asked as often as 10.
    selector = started(spec)
    told(selector, 1, [20, 10, 30, 40])
    for index in range(2, 51):
        told(selector, index, [10], failed=(30, 40))
    assert select(selector, 100, 4).ids[0] == first


def test_old_reports_fade():
    selector = started("fed-cucb:forget=0.5")
    told(selector, 1, [20])
    told(selector, 3, [20], {20: (9.0, 1.0)})
    told(selector, 4, [20], {20: (1.0, 1.0)})
    # Ages 3, 1 and 0: weights 1/8, 1/2 and 1.
    weights = np.array([1 / 8, 1 / 2, 1])
    shares = (weights @ [[0.9, 0.1], [0.1, 0.9], [0.5, 0.5]]) / weights.sum()
    np.testing.assert_allclose(selector.shares_.get(np.array([20])), [shares])
    rewards = [1 / ENTROPY[20], 1 / ENTROPY[30], 1 / ENTROPY[10]]
    np.testing.assert_allclose(select(selector, 5, 1, [20]).scores["reward"], weights @ rewards / weights.sum())


def test_nothing_fades_in_the_released_code():
    selector = started("fed-cucb:released")
    told(selector, 1, [20])
    told(selector, 50, [20], {20: (9.0, 1.0)})
    np.testing.assert_allclose(selector.shares_.get(np.array([20])), [[0.5, 0.5]])


def test_the_sweep_goes_on_with_whoever_is_there_and_has_not_reported():
    selector = started()
    assert sorted(select(selector, 1, 2, [10, 20]).ids) == [10, 20]
    told(selector, 1, [10], failed=[20])
    # 30 and 40 were never asked and come before 20, which was; 10 is known and comes last.
    assert select(selector, 2, 3).ids[2] == 20
    assert select(selector, 2, 2, [10, 20]).ids.tolist() == [20, 10]
    assert select(selector, 2, 1, [10]).ids.tolist() == [10]


def test_a_client_that_never_answers_does_not_hold_a_place_for_ever():
    selector, first = started(), []
    told(selector, 1, [10, 30, 40], failed=[20])
    for index in range(2, 40):
        chosen = select(selector, index, 2).ids.tolist()
        first.append(chosen.index(20) if 20 in chosen else None)
        told(selector, index, [i for i in chosen if i != 20], failed=[i for i in chosen if i == 20])
    assert first[:2] == [0, 0]  # asked three times in the sweep
    assert first.count(0) < 10  # later only its bonus brings it back, which shrinks each time
    assert 1 not in first  # nothing is known of its classes, so it never fills up a cohort
    assert select(selector, 40, 4).ids.tolist().index(20) in (0, 3)


def test_another_number_of_classes_is_refused_and_nothing_is_learned():
    selector = started()
    with pytest.raises(InputError, match="tell of 3 classes, the plan of 2"):
        selector.update(callup.Feedback(1, np.array([10]), {"class_gradients": np.ones((1, 3))}, CLIENTS))
    assert not len(selector.asked_.ids)


def test_classes_must_be_planned():
    with pytest.raises(InputError, match="set classes in the plan"):
        callup.selector("fed-cucb").start(CLIENTS, callup.Plan(2), callup.stream(0))


@pytest.mark.parametrize("bad", ["explore=-1", "forget=0", "forget=1.1", "beta=0", "patience=0"])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(UsageError, match=bad.split("=")[0]):
        callup.selector(f"fed-cucb:{bad}")
