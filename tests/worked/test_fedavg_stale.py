"""Stale FedAvg on four clients of 10, 20, 30 and 40 samples."""

import numpy as np

from callup.core.catalogue import AVERAGES
from callup.core.clients import Clients
from callup.core.types import Replies

CLIENTS = Clients([0, 1, 2, 3], num_examples=[10, 20, 30, 40])
MODELS = np.array([[7.0, -4.0], [1.0, 10.0], [5.0, 6.0], [2.0, 20.0]], np.float32)
NOW = np.array([100.0, 0.0], np.float32)


def combine(ids, weights=None, clients=CLIENTS):
    rows = np.array(ids)
    replies = Replies(rows, NOW, MODELS[rows], np.full(len(rows), 1.0), np.ones(len(rows)))
    return AVERAGES.make("fedavg-stale").combine(NOW, replies, clients, weights)


def test_those_absent_vote_for_the_model_as_it_was():
    # Clients 0 and 2 hold 0.1 + 0.3 of the data: 0.4 x (100, 0) + 0.2 x (1, 10) + 0.4 x (2, 20).
    new = combine([3, 1])
    np.testing.assert_allclose(new, [40 + 0.2 + 0.8, 2 + 8], rtol=1e-6)
    assert new.dtype == np.float32


def test_with_everyone_it_is_the_mean_by_size():
    expected = 0.1 * MODELS[0] + 0.2 * MODELS[1] + 0.3 * MODELS[2] + 0.4 * MODELS[3]
    np.testing.assert_allclose(combine([2, 0, 3, 1]), expected, rtol=1e-6)


def test_weights_of_the_selection_split_the_step_and_keep_its_length():
    # 0.6 of the data; three quarters of the step go to client 1: 0.4 w_t + 0.45 (1, 10) + 0.15 (2, 20).
    np.testing.assert_allclose(combine([1, 3], np.array([3.0, 1.0])), [40 + 0.45 + 0.3, 4.5 + 3], rtol=1e-6)


def test_without_any_data_the_model_stays():
    np.testing.assert_array_equal(combine([0, 2], clients=Clients([0, 1, 2, 3], num_examples=[0, 0, 0, 0])), NOW)
