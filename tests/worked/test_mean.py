"""Mean: local models count the same, whatever their sizes."""

import numpy as np
import pytest

from callup import Clients
from callup.core.catalogue import AVERAGES
from callup.core.errors import ContractError
from callup.core.types import Replies

CLIENTS = Clients([1, 2, 3], num_examples=[10, 30, 60])
START = np.array([9, 9], np.float32)


def replies(models, sizes):
    ids = np.arange(1, len(models) + 1)
    return Replies(ids, START, np.asarray(models, np.float32).reshape(-1, 2), np.asarray(sizes), np.ones(len(ids)))


def test_sizes_do_not_matter():
    # (1 + 2 + 6) / 3 = 3; (0 + 3 - 6) / 3 = -1
    out = AVERAGES.make("mean").combine(START, replies([[1, 0], [2, 3], [6, -6]], [10, 30, 60]), CLIENTS)
    np.testing.assert_array_equal(out, [3, -1])
    assert out.dtype == np.float32


def test_the_selectors_weights_replace_the_rule():
    # Weights 2 and 1: (2 * 1 + 1 * 4) / 3 = 2; (2 * 0 + 1 * 3) / 3 = 1
    out = AVERAGES.make("mean").combine(START, replies([[1, 0], [4, 3]], [1, 1]), CLIENTS, np.array([2.0, 1.0]))
    np.testing.assert_allclose(out, [2, 1], rtol=1e-7)


def test_no_reply_leaves_the_model():
    out = AVERAGES.make("mean").combine(START, replies(np.empty((0, 2)), []), CLIENTS)
    np.testing.assert_array_equal(out, START)
    assert out is not START


def test_added_up_in_float64():
    # In float32, 1e8 + 1 = 1e8, so adding in single precision would lose the 1 and give 0.
    models = [[1e8, 0], [1, 0], [-1e8, 0], [0, 0]]
    np.testing.assert_array_equal(AVERAGES.make("mean").combine(START, replies(models, [1] * 4), CLIENTS), [0.25, 0])


def test_weights_of_the_wrong_length_are_refused():
    with pytest.raises(ContractError, match=r"shape \(3,\) for 2 replies"):
        AVERAGES.make("mean").combine(START, replies([[1, 0], [4, 3]], [1, 1]), CLIENTS, np.ones(3))
