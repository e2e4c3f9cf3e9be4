"""FedCA on tables of logits small enough to add up by hand."""

import math

import numpy as np
import pytest

import callup
from callup.aggregation.fedca import best_subset
from callup.core.catalogue import FILTERS
from callup.core.errors import InputError, UsageError
from callup.core.types import Replies


class Table:
    """A workbench that knows logits and labels only: FedCA must not score any average of weights."""

    def __init__(self, logits, labels):
        self._logits, self.labels = logits, np.asarray(labels)

    def logits(self, row):
        return np.asarray(self._logits[row], np.float32)

    def loss(self, rows):
        raise AssertionError("the weight average is never evaluated")

    accuracy = loss


def leads(*margins):
    """Two-class logits of one model, label 1 throughout, from how far the label is ahead on each sample."""
    return np.stack([np.zeros(len(margins)), np.array(margins, float)], axis=1)


def replies(ids):
    n = len(ids)
    return Replies(np.array(ids), np.zeros(1), np.zeros((n, 1)), np.ones(n), np.ones(n))


def started(spec="fedca", seed=0):
    made = FILTERS.make(spec)
    made.start(callup.Clients(range(100)), callup.Plan(3), callup.stream(seed, "start"))
    return made


def kept(logits, labels, spec="fedca", ids=None):
    ids = list(range(len(logits))) if ids is None else ids
    return set(np.array(ids)[started(spec).keep(replies(ids), Table(logits, labels))].tolist())


def test_two_models_that_make_up_for_each_other():
    # Summed leads:  A 2 2 -1 -1 | B -1 -1 2 2 | C -5 1 1 -3, each right twice;
    # AB 1 1 1 1: four right. AC -3 3 0 -4 and BC -6 0 3 -1: a tie goes to class 0, so one right. ABC -4 2 2 -2: two.
    models = [leads(2, 2, -1, -1), leads(-1, -1, 2, 2), leads(-5, 1, 1, -3)]
    assert kept(models, [1, 1, 1, 1]) == {0, 1}


def test_the_two_scores_disagree_and_logits_are_averaged_not_summed():
    timid, bold = leads(0.1, 0.1, 0.1), leads(4, 4, -0.5)

    def loss(*margins):
        return sum(math.log1p(math.exp(-m)) for m in margins) / len(margins)

    # Accuracy: timid 3 of 3, bold 2, both (2.05, 2.05, -0.2) 2.
    assert kept([timid, bold], [1, 1, 1]) == {0}
    # Cross-entropy: timid 0.644, bold 0.337, the mean of both 0.347; the sum of both would be best with 0.315.
    assert loss(4, 4, -0.5) < loss(2.05, 2.05, -0.2) < loss(0.1, 0.1, 0.1)
    assert loss(4.1, 4.1, -0.4) < loss(4, 4, -0.5)
    assert kept([timid, bold], [1, 1, 1], "fedca:score=likelihood") == {1}


def test_a_tie_between_classes_goes_to_the_first_as_argmax_has_it():
    level = np.zeros((2, 3))
    ahead = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    # Labels 0 and 2: level gets sample 1 alone, ahead both, and their mean both.
    assert kept([level, ahead], [0, 2]) == {0, 1}
    # Labels 1 and 2: on sample 1 class 0 is level with the label and comes first. The mean is as good as ahead alone.
    assert kept([level, ahead], [1, 2]) == {0, 1}
    # One more model puts the label of sample 1 ahead, and is better than any company with class 0 ahead of it.
    behind = np.array([[5.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    found = np.array([[0.0, 4.0, 0.0], [0.0, 0.0, 1.0]])
    assert kept([behind, found], [1, 2]) == {1}


def test_above_the_limit_the_first_model_taken_may_have_to_go_again():
    # Mean leads and cross-entropy: A (1.5, 1.5) 0.201, the best alone; AB (3.75, -0.25) 0.425 and AC the same;
    # ABC (1.83, 1.83) 0.148; BC (2, 2) 0.127, the best of all.
    models = [leads(1.5, 1.5), leads(6, -2), leads(-2, 6)]
    for limit in (1, 14):
        assert kept(models, [1, 1], f"fedca:score=likelihood,exact_up_to={limit}") == {1, 2}


@pytest.mark.parametrize("score", ["accuracy", "likelihood"])
@pytest.mark.parametrize("models", [1, 5, 14, 17])
def test_identical_models_are_all_kept(score, models):
    same = np.array([[0.3, 1.7, -0.1], [2.1, 0.2, 0.7], [0.4, 0.1, -2.3]])  # not round numbers in binary
    assert kept([same] * models, [1, 2, 0], f"fedca:score={score}") == set(range(models))


@pytest.mark.parametrize("spec", ["fedca", "fedca:exact_up_to=3", "fedca:score=likelihood"])
def test_row_order_changes_nothing(spec):
    rng = callup.stream(5, "logits")
    logits = rng.integers(-2, 3, (7, 12, 3)).astype(float)  # whole numbers: ties abound
    labels, ids = rng.integers(0, 3, 12), np.array([40, 3, 17, 8, 99, 21, 60])
    expected = kept(logits, labels, spec, ids)
    for seed in range(10):
        order = callup.stream(seed, "order").permutation(7)
        assert kept(logits[order], labels, spec, ids[order]) == expected


def test_equal_and_equally_large_subsets_are_drawn_by_lot():
    # A is right on sample 1, B on sample 2, both together (-2, -2) on neither.
    bench = Table([leads(1, -3), leads(-3, 1)], [1, 1])
    made, first = started(), 0
    for _ in range(200):
        mask = made.keep(replies([4, 6]), bench)
        np.testing.assert_array_equal(made.keep(replies([4, 6]), bench), mask)  # looking again changes nothing
        assert mask.sum() == 1
        first += int(mask[0])
        made.update(replies([4, 6]), mask, np.zeros(1))
    # 200 fair lots: 43 are 6 standard deviations; false alarm 2e-9.
    assert abs(first - 100) <= 43


def test_a_saved_filter_goes_on_as_if_never_stopped():
    bench = Table([leads(1, -3), leads(-3, 1)], [1, 1])
    made, other = started(), started(seed=1)
    for _ in range(30):  # each lot equal by chance in both: 2^-30
        made.update(replies([4, 6]), np.array([True, False]), np.zeros(1))
        other.load(made.state())
        np.testing.assert_array_equal(made.keep(replies([4, 6]), bench), other.keep(replies([4, 6]), bench))


def test_a_model_gone_astray_does_not_blind_the_search():
    # Alone the two sound models are right on 2 of 3, together on 3; the third is wrong by a mile everywhere.
    sound = [leads(1e-3, 1e-3, -1e-4), leads(-1e-4, 1e-3, 1e-3)]
    for far in (1e9, 3e38):
        assert kept([*sound, leads(-far, -far, -far)], [1, 1, 1]) == {0, 1}


@pytest.mark.parametrize("broken", [np.nan, np.inf, -np.inf])
def test_a_model_without_finite_logits_is_left_out(broken):
    assert kept([leads(1, broken), leads(1, 1)], [1, 1]) == {1}
    assert kept([leads(broken, 1)], [1, 1]) == set()


def test_one_reply_is_kept_however_bad():
    assert kept([leads(-9, -9)], [1, 1]) == {0}


def test_no_reply_keeps_nobody():
    assert started().keep(replies([]), Table([], [1])).shape == (0,)


@pytest.mark.parametrize("value", [0, -3, 21])
def test_a_search_without_end_is_refused(value):
    with pytest.raises(UsageError, match=f"exact_up_to must be from 1 to 20, got {value}"):
        FILTERS.make(f"fedca:exact_up_to={value}")


def test_choosing_from_no_models_is_refused():
    with pytest.raises(InputError, match="at least one model"):
        best_subset([], np.array([0]))
