"""The workbench on a linear model with four validation samples: right numbers, each computed once."""

import math

import numpy as np
import pytest

from callup.aggregation.workbench import ModelBench, score
from callup.core.errors import ContractError, InputError
from callup.core.types import Replies

X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, -1.0]])
Y = np.array([0, 1, 0, 1])
# A model is one weight for each feature; the score of class 0 is x . w, that of class 1 is 0.
START = np.array([0.0, 0.0], np.float32)
MODELS = np.array([[1.0, -1.0], [3.0, 1.0], [-1.0, 2.0]], np.float32)


def logits(model):
    return np.stack([X @ model, np.zeros(len(X))], axis=1)


def bench(combine=None):
    replies = Replies(np.array([5, 2, 9]), START, MODELS, np.ones(3), np.ones(3))
    return ModelBench(replies, logits, Y, combine or (lambda rows: MODELS[rows].mean(axis=0)))


def test_logits_of_one_model():
    # x . (1, -1) is 1, -1, 0, 3.
    np.testing.assert_array_equal(bench().logits(0), [[1, 0], [-1, 0], [0, 0], [3, 0]])


def test_scores_of_an_average():
    # (1, -1) and (-1, 2) average to (0, 0.5): class 0 scores 0, 0.5, 0.5, -0.5, so samples 1 (a tie goes to the
    # first class), 3 and 4 are right.
    made = bench()
    right = [0.0, -0.5, 0.5, 0.5]  # the label's score minus the other's
    assert made.accuracy(np.array([0, 2])) == 0.75
    assert made.loss(np.array([0, 2])) == pytest.approx(sum(math.log1p(math.exp(-m)) for m in right) / 4, rel=1e-12)


def test_nobody_averaged_is_the_model_they_started_from():
    made = bench()
    assert made.accuracy(np.array([], np.intp)) == 0.5  # all ties: class 0 everywhere
    assert made.loss(np.array([])) == pytest.approx(math.log(2))


def test_each_thing_is_computed_once():
    made = bench()
    assert made.passes == 0
    for _ in range(2):
        made.logits(1)
        made.loss(np.array([0, 1]))
        made.accuracy(np.array([1, 0]))
        made.loss(np.array([0, 1, 1]))
    assert made.passes == 2


def test_a_row_named_twice_counts_once():
    assert bench().loss(np.array([1, 0, 1])) == bench().loss(np.array([0, 1]))


def test_a_single_reply_shares_its_own_logits():
    made = bench()
    made.loss(np.array([1]))
    made.logits(1)
    assert made.passes == 1


def test_a_rule_that_changes_a_single_reply_is_run():
    made = bench(combine=lambda rows: 0.5 * MODELS[rows].mean(axis=0))
    made.logits(0)
    # Half of (1, -1) scores 0.5, -0.5, 0, 1.5; the label's lead is 0.5, 0.5, 0, -1.5.
    expected = sum(math.log1p(math.exp(-m)) for m in (0.5, 0.5, 0.0, -1.5)) / 4
    assert made.loss(np.array([0])) == pytest.approx(expected, rel=1e-12)
    assert made.passes == 2


def test_nobody_can_spoil_what_others_read():
    made = bench()
    for array in (made.logits(0), made.labels):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7
    Y[0] = 0  # the caller's own array stays writable


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (np.array([True, False, True]), "rows by number, not a mask"),
        (np.array([3]), "from 0 to 2, got"),
        (np.array([-1]), "from 0 to 2, got"),
        (np.array([0.5]), "rows by number"),
    ],
)
def test_rows_that_mean_nothing_are_refused(rows, sentence):
    with pytest.raises(ContractError, match=sentence):
        bench().loss(rows)


@pytest.mark.parametrize("labels", [np.array([], np.int64), np.array([0.0, 1.0]), np.array([[0, 1]]), np.array([-1])])
def test_a_bench_without_usable_labels_is_refused(labels):
    replies = Replies(np.array([5]), START, MODELS[:1], np.ones(1), np.ones(1))
    with pytest.raises(InputError, match="needs a validation set"):
        ModelBench(replies, logits, labels, lambda rows: MODELS[0])


def test_logits_of_the_wrong_shape_are_named():
    replies = Replies(np.array([5]), START, MODELS[:1], np.ones(1), np.ones(1))
    with pytest.raises(ContractError, match=r"shape \(4, 2\) for 3 labels up to 1"):
        ModelBench(replies, logits, Y[:3], lambda rows: MODELS[0]).logits(0)


def test_scores_that_are_not_finite_are_wrong_and_cost_everything():
    broken = np.array([[2.0, 0.0], [np.nan, 0.0], [np.inf, 0.0]])
    assert score(broken, np.array([0, 0, 0])) == (np.inf, pytest.approx(1 / 3))


def test_large_scores_do_not_overflow():
    loss, accuracy = score(np.array([[1e30, 0.0], [0.0, 1e4]]), np.array([0, 0]))
    assert (loss, accuracy) == (5000.0, 0.5)
