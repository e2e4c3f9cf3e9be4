"""FedPdp on four clients of 10, 20, 30 and 40 samples."""

import itertools
import warnings

import numpy as np
import pytest

from callup.aggregation.fedpdp import RescaledModel
from callup.core.catalogue import AVERAGES
from callup.core.clients import Clients
from callup.core.types import Replies

CLIENTS = Clients([0, 1, 2, 3], num_examples=[10, 20, 30, 40])
MODELS = np.array([[7.0, -4.0], [1.0, 10.0], [5.0, 6.0], [2.0, 20.0]], np.float32)
NOW = np.array([100.0, 100.0], np.float32)


def replies(ids):
    rows = np.array(ids)
    return Replies(rows, NOW, MODELS[rows], np.full(len(rows), 1.0), np.ones(len(rows)))


def test_literal_formula():
    # p = 0.2 and 0.4, N/|S| = 4/2: weights 0.4 and 0.8, which add up to 1.2.
    new = AVERAGES.make("fedpdp:normalise=false").combine(NOW, replies([3, 1]), CLIENTS)
    np.testing.assert_allclose(new, [0.4 * 1 + 0.8 * 2, 0.4 * 10 + 0.8 * 20], rtol=1e-6)
    assert new.dtype == np.float32


def test_normalised_by_default():
    new = AVERAGES.make("fedpdp").combine(NOW, replies([3, 1]), CLIENTS)
    np.testing.assert_allclose(new, [(1 + 2 * 2) / 3, (10 + 2 * 20) / 3], rtol=1e-6)


def test_the_literal_form_is_right_on_average_over_all_cohorts():
    # What the factor N/|S| is for: with uniform cohorts the expectation is the mean over all clients by size.
    rule = AVERAGES.make("fedpdp:normalise=false")
    cohorts = [list(pair) for pair in itertools.combinations(range(4), 2)]
    mean = np.mean([rule.combine(NOW, replies(ids), CLIENTS) for ids in cohorts], axis=0)
    np.testing.assert_allclose(mean, 0.1 * MODELS[0] + 0.2 * MODELS[1] + 0.3 * MODELS[2] + 0.4 * MODELS[3], rtol=1e-5)


def test_equal_sizes_need_no_normalising():
    equal = Clients([0, 1, 2, 3], num_examples=[25, 25, 25, 25])
    for rule in ("fedpdp", "fedpdp:normalise=false"):
        new = AVERAGES.make(rule).combine(NOW, replies([0, 1]), equal)
        np.testing.assert_allclose(new, [4, 3], rtol=1e-6)


@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        ([10, 20, 30, 40], "less than 0.5"),  # 0.1 x 4 = 0.4
        ([1, 3, 2, 2], None),  # 1/8 x 4 = 0.5
        ([4, 2, 1, 1], None),  # 4/8 x 4 = 2
        ([5, 1, 1, 1], "more than 2"),  # 5/8 x 4 = 2.5
    ],
)
def test_a_model_scaled_far_from_its_size_is_told(sizes, told):
    clients = Clients([0, 1, 2, 3], num_examples=sizes)
    literal = AVERAGES.make("fedpdp:normalise=false")
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        literal.combine(NOW, replies([0]), clients)
        AVERAGES.make("fedpdp").combine(NOW, replies([0]), clients)
    assert [w.category for w in heard] == ([RescaledModel] if told else [])
    assert told is None or told in str(heard[0].message)


def test_weights_of_the_selection_replace_the_shares():
    # Drawn three times and once: (3 x (1, 10) + (2, 20)) / 4, in either form.
    for rule in ("fedpdp", "fedpdp:normalise=false"):
        new = AVERAGES.make(rule).combine(NOW, replies([1, 3]), CLIENTS, np.array([3.0, 1.0]))
        np.testing.assert_allclose(new, [1.25, 12.5], rtol=1e-6)


@pytest.mark.parametrize("rule", ["fedpdp", "fedpdp:normalise=false"])
def test_without_any_data_the_model_stays(rule):
    empty = Clients([0, 1, 2, 3], num_examples=[0, 0, 0, 0])
    np.testing.assert_array_equal(AVERAGES.make(rule).combine(NOW, replies([0, 2]), empty), NOW)
