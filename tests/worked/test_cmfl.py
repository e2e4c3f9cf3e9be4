"""CMFL by hand on ten coordinates: which signs agree, with what, and who is kept."""

import numpy as np
import pytest

from callup.aggregation.cmfl import agreement
from callup.core.catalogue import FILTERS
from callup.core.clients import Clients
from callup.core.errors import UsageError
from callup.core.randomness import stream
from callup.core.types import Plan, Replies

START = np.arange(10, dtype=np.float32)
UP = np.ones(10, np.float32)


def signs(minus):
    """An update that falls in the first so many coordinates and rises in the others."""
    return np.where(np.arange(10) < minus, -1.0, 1.0).astype(np.float32)


def replies(*updates, ids=None):
    models = START + np.array(updates, np.float32).reshape(len(updates), 10)
    names = np.arange(len(updates)) if ids is None else np.array(ids)
    return Replies(names, START, models, np.ones(len(updates)), np.ones(len(updates)))


def started(spec):
    rule = FILTERS.make(spec)
    rule.start(Clients(range(20)), Plan(3), stream(0, "start"))
    return rule


def learned(spec, direction=UP, rounds=1):
    """After so many rounds, of which the last moved the model in this direction."""
    rule = started(spec)
    for _ in range(rounds):
        rule.update(replies(UP), np.array([True]), START + direction)
    return rule


def test_agreement_counts_signs_and_zero_agrees_with_zero_alone():
    update = np.array([1, -1, 0, 0, 2, -3, 1, 1, 0, 5], np.float32)
    common = np.array([1, 1, 0, 1, 1, -1, 0, -1, -1, 1], np.float32)
    # Equal in places 0, 2, 4, 5 and 9.
    np.testing.assert_allclose(agreement(replies(update), common), [0.5])


def test_the_first_round_keeps_everybody():
    assert started("cmfl").keep(replies(UP, -UP, signs(5)), None).tolist() == [True, True, True]


def test_constant_threshold_against_the_last_global_change():
    rule = learned("cmfl:schedule=constant,threshold=0.7")
    # Falling in 2, 3 and 4 of ten places: 0.8, 0.7 and 0.6 agree.
    assert rule.keep(replies(signs(2), signs(3), signs(4)), None).tolist() == [True, True, False]
    down = learned("cmfl:schedule=constant,threshold=0.7", -UP)
    assert down.keep(replies(signs(2), signs(7), signs(9)), None).tolist() == [False, True, True]


@pytest.mark.parametrize(("rounds", "kept"), [(1, [True, False, False]), (3, [True, True, False]), (15, [True] * 3)])
def test_falling_threshold(rounds, kept):
    # 0.8/sqrt(t) with t = 2, 4, 16: 0.566, 0.4, 0.2. The updates agree in 0.6, 0.4 and 0.2.
    assert learned("cmfl", rounds=rounds).keep(replies(signs(4), signs(6), signs(8)), None).tolist() == kept


def test_a_round_that_changed_nothing_is_not_a_direction():
    rule = learned("cmfl:schedule=constant,threshold=0.7", signs(10))
    rule.update(replies(UP), np.array([False]), START)
    assert rule.keep(replies(signs(9), UP), None).tolist() == [True, False]
    fresh = started("cmfl:schedule=constant")
    fresh.update(replies(UP), np.array([False]), START)
    assert fresh.keep(replies(UP, -UP), None).all()


def test_when_nobody_passes_the_best_is_kept_or_nobody():
    few = replies(signs(6), signs(5), signs(9))
    assert learned("cmfl:schedule=constant").keep(few, None).tolist() == [False, True, False]
    assert not learned("cmfl:schedule=constant,rescue=false").keep(few, None).any()


def test_of_equally_good_ones_one_is_drawn_anew_each_round():
    rule, seen = learned("cmfl:schedule=constant"), set()
    for _ in range(40):  # always the same one: 3 x 3^-40
        mask = rule.keep(replies(signs(5), signs(5), signs(5)), None)
        assert mask.sum() == 1
        seen.add(int(mask.argmax()))
        rule.update(replies(UP), np.array([True]), START + UP)
    assert seen == {0, 1, 2}


def test_current_mean_as_in_fedacs():
    # The mean is (signs(1) + signs(2) + signs(8))/3: minus in place 0 and 1 (-3, -1), plus (+1) in 2..7, plus in 8, 9.
    rule = started("cmfl:fedacs")
    few = replies(signs(1), signs(2), signs(8))
    np.testing.assert_allclose(agreement(few, signs(2)), [0.9, 1.0, 0.4])
    assert rule.keep(few, None).tolist() == [True, True, False]
    # A long update outweighs two short ones: the mean then has its signs.
    long = replies(signs(1), signs(2), 10 * signs(8))
    assert rule.keep(long, None).tolist() == [False, False, True]


def test_current_mean_has_no_memory_and_no_falling_threshold():
    rule = started("cmfl:fedacs")
    few = replies(signs(0), signs(0), signs(4))
    for _ in range(20):
        assert rule.keep(few, None).tolist() == [True, True, False]
        rule.update(few, np.array([True, True, False]), START - UP)


def test_opposites_cancel_to_a_zero_that_agrees_with_nobody():
    # Mean zero everywhere: nobody agrees anywhere, and of the equally bad one is kept.
    assert started("cmfl:fedacs").keep(replies(UP, -UP), None).sum() == 1


@pytest.mark.parametrize("threshold", [0, 1.01, -0.5])
def test_thresholds_are_shares(threshold):
    with pytest.raises(UsageError, match="threshold must be above 0 and at most 1"):
        FILTERS.make(f"cmfl:threshold={threshold}")
