"""Draws by mean influence: the same law as shapley's, on leave-one-out values."""

import numpy as np
import pytest

import callup
from callup.core.errors import MissingSignal, UsageError

CLIENTS = callup.Clients([1, 2, 8])


def started(spec="influence"):
    selector = callup.selector(spec)
    selector.start(CLIENTS, callup.Plan(1), callup.stream(0, "start"))
    return selector


def told(selector, index, values):
    signals = {"contribution": np.array(list(values.values()), float)}
    selector.update(callup.Feedback(index, np.array(list(values)), signals, CLIENTS, failed={}))


def test_helpful_clients_come_more_often_and_the_worst_still_comes():
    selector = started()
    told(selector, 1, {1: -0.02, 2: 0.03})
    told(selector, 2, {1: 0.0})
    # Means -0.01 and 0.03; client 8 counts as 0.01. Range 0.04, so weights 0.0004, 0.0404 and 0.0204.
    now = callup.Round(3, CLIENTS.ids, CLIENTS, callup.stream(2, "draws"))
    firsts = [selector.select(now, 1).ids[0] for _ in range(6000)]
    seen = np.array([firsts.count(client) for client in (1, 2, 8)])
    expected = 6000 * np.array([0.0004, 0.0404, 0.0204]) / 0.0612
    # Chi-square with 2 degrees of freedom exceeds 27.6 once in 1e6.
    assert ((seen - expected) ** 2 / expected).sum() < 27.6
    assert seen[0] > 0  # 39 expected


def test_lost_replies_change_nothing():
    selector = started()
    told(selector, 1, {1: 1.0})
    before = selector.state()
    selector.update(callup.Feedback(2, np.empty(0, np.int64), {}, CLIENTS, failed={1: "no reply"}))
    for name, array in selector.state().items():
        np.testing.assert_array_equal(array, before[name])


def test_what_it_asks_for():
    assert [str(need) for need in started("influence:metric=accuracy").needs] == [
        "contribution:by=influence,metric=accuracy"
    ]
    with pytest.raises(MissingSignal, match="no 'contribution'"):
        started().update(callup.Feedback(1, np.array([1]), {}, CLIENTS))


@pytest.mark.parametrize("bad", ["decay=1", "floor=-1"])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(UsageError, match=f"influence: {bad.split('=')[0]}"):
        callup.selector(f"influence:{bad}")
