"""Weighted: FedAvg over the replies, by number of samples."""

import numpy as np

from callup import Clients
from callup.core.catalogue import AVERAGES
from callup.core.types import Replies

CLIENTS = Clients([1, 2, 7], num_examples=[10, 30, 60])
START = np.array([9, 9], np.float32)


def replies(models, sizes):
    ids = np.arange(1, len(models) + 1)
    return Replies(ids, START, np.asarray(models, np.float32).reshape(-1, 2), np.asarray(sizes), np.ones(len(ids)))


def test_by_data_size_over_those_who_replied():
    # (10 * 1 + 30 * 5) / 40 = 4; (10 * 2 + 30 * -2) / 40 = -1. Client 7 did not reply and does not count.
    out = AVERAGES.make("weighted").combine(START, replies([[1, 2], [5, -2]], [10, 30]), CLIENTS)
    np.testing.assert_array_equal(out, [4, -1])
    assert out.dtype == np.float32


def test_the_selectors_weights_replace_the_sizes():
    # Weights 1 and 1 in place of 10 and 30: (1 + 5) / 2 = 3; (2 - 2) / 2 = 0
    out = AVERAGES.make("weighted").combine(START, replies([[1, 2], [5, -2]], [10, 30]), CLIENTS, np.ones(2))
    np.testing.assert_array_equal(out, [3, 0])


def test_nothing_to_weigh_leaves_the_model():
    rule = AVERAGES.make("weighted")
    np.testing.assert_array_equal(rule.combine(START, replies(np.empty((0, 2)), []), CLIENTS), START)
    np.testing.assert_array_equal(rule.combine(START, replies([[1, 2]], [0]), CLIENTS), START)
