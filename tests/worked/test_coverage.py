"""Class coverage on a run of four rounds that can be read by eye."""

import numpy as np
import pytest

from callup.analytics.coverage import covered, first_seen
from callup.core.errors import InputError

# Class 0 from the start, class 1 in round 3, class 2 in round 2 only, class 3 never; nobody replied in round 4.
ROUNDS = np.array([[9, 0, 0, 0], [7, 0, 2, 0], [0, 1, 0, 0], [0, 0, 0, 0]])


def test_first_round_of_each_class():
    np.testing.assert_array_equal(first_seen(ROUNDS), [1, 3, 2, np.nan])


def test_share_seen_never_falls():
    np.testing.assert_array_equal(covered(ROUNDS), [0.25, 0.5, 0.75, 0.75])


def test_no_rounds_yet():
    np.testing.assert_array_equal(first_seen(np.empty((0, 2))), [np.nan, np.nan])
    assert covered(np.empty((0, 2))).shape == (0,)


@pytest.mark.parametrize("broken", [np.zeros(4), np.zeros((3, 0))])
def test_wrong_shape_is_named(broken):
    for measure in (first_seen, covered):
        with pytest.raises(InputError, match=r"shape \(rounds, classes\), got"):
            measure(broken)
