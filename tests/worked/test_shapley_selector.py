"""Draws by mean Shapley value: the running mean, the unseen, the shift and the law, by hand."""

import numpy as np
import pytest

import callup
from callup.core.errors import MissingSignal, UsageError

CLIENTS = callup.Clients([3, 5, 7, 9])


def started(spec="shapley"):
    selector = callup.selector(spec)
    selector.start(CLIENTS, callup.Plan(1), callup.stream(0, "start"))
    return selector


def told(selector, index, values):
    signals = {"contribution": np.array(list(values.values()), float)}
    selector.update(callup.Feedback(index, np.array(list(values)), signals, CLIENTS))


def values(selector, index=1):
    chosen = selector.select(callup.Round(index, CLIENTS.ids, CLIENTS, callup.stream(0, index)), 4)
    return chosen.scores["contribution"][np.argsort(chosen.ids)]


def counts(selector, draws=4000):
    now = callup.Round(1, CLIENTS.ids, CLIENTS, callup.stream(1, "draws"))
    firsts = [selector.select(now, 1).ids[0] for _ in range(draws)]
    return np.array([firsts.count(client) for client in CLIENTS.ids.tolist()])


def test_the_running_mean_and_the_unseen():
    selector = started()
    told(selector, 1, {3: 0.4, 5: -0.2})
    # 7 and 9 count as the mean of 3 and 5.
    np.testing.assert_allclose(values(selector), [0.4, -0.2, 0.1, 0.1])
    told(selector, 2, {3: 0.0, 7: 1.0})
    # 3: (0.4 + 0)/2; 7 begins with its first value; 9: (0.2 - 0.2 + 1.0)/3.
    np.testing.assert_allclose(values(selector), [0.2, -0.2, 1.0, 1 / 3])
    told(selector, 3, {3: 0.6})
    np.testing.assert_allclose(values(selector)[0], 0.4)


def test_decay_is_the_share_of_the_past():
    selector = started("shapley:decay=0.9")
    told(selector, 1, {3: 1.0})
    told(selector, 2, {3: 0.0})
    np.testing.assert_allclose(values(selector)[0], 0.9)
    latest = started("shapley:decay=0")
    told(latest, 1, {3: 1.0})
    told(latest, 2, {3: -2.0})
    np.testing.assert_allclose(values(latest)[0], -2.0)


def test_chances_are_proportional_to_what_is_above_the_least():
    selector = started()
    told(selector, 1, {3: -1.0, 5: 0.0, 7: 1.0, 9: 3.0})
    # Range 4: weights 0.04, 1.04, 2.04 and 4.04.
    expected = 4000 * np.array([0.04, 1.04, 2.04, 4.04]) / 7.16
    # Chi-square with 3 degrees of freedom exceeds 30.7 once in 1e6.
    assert ((counts(selector) - expected) ** 2 / expected).sum() < 30.7


@pytest.mark.parametrize("told_of", [{}, {3: -0.5, 5: -0.5, 7: -0.5, 9: -0.5}])
def test_all_the_same_when_nothing_is_known_or_all_are_equal(told_of):
    selector = started()
    if told_of:
        told(selector, 1, told_of)
    assert ((counts(selector) - 1000) ** 2 / 1000).sum() < 30.7


def test_only_those_available_are_compared():
    # Without client 9 the range is 2: weights 0.02, 1.02, 2.02.
    selector = started()
    told(selector, 1, {3: -1.0, 5: 0.0, 7: 1.0, 9: 300.0})
    now = callup.Round(1, np.array([3, 5, 7]), CLIENTS, callup.stream(1, "draws"))
    firsts = [selector.select(now, 1).ids[0] for _ in range(4000)]
    expected = 4000 * np.array([0.02, 1.02, 2.02]) / 3.06
    seen = np.array([firsts.count(client) for client in (3, 5, 7)])
    # Two degrees of freedom: 27.6 once in 1e6.
    assert ((seen - expected) ** 2 / expected).sum() < 27.6


def test_what_it_asks_for():
    assert [str(need) for need in started().needs] == ["contribution:by=shapley,method=auto,metric=loss"]
    assert [str(n) for n in started("shapley:method=gtg,metric=accuracy").needs] == [
        "contribution:by=shapley,method=gtg,metric=accuracy"
    ]
    with pytest.raises(MissingSignal, match="no 'contribution'"):
        started().update(callup.Feedback(1, np.array([3]), {}, CLIENTS))


@pytest.mark.parametrize("bad", ["decay=1", "decay=-0.1", "floor=0"])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(UsageError, match=f"shapley: {bad.split('=')[0]}"):
        callup.selector(f"shapley:{bad}")
