"""What a place is worth: by hand, and for any weights."""

import numpy as np
import pytest

from callup.core.randomness import stream
from callup.core.types import Selection
from callup.guard.weights import capped, evened


def test_by_hand():
    # Five clients, at most three fifths: .15 against .1 of the four others together is .6 of all.
    assert capped(np.array([0.9, 0.025, 0.025, 0.025, 0.025]), 0.6) == pytest.approx([0.15, *[0.025] * 4])
    # Two above 3/10: c each with c = .3 (2 c + .08), so c = .06.
    assert capped(np.array([0.6, 0.32, *[0.01] * 8]), 0.3) == pytest.approx([0.06, 0.06, *[0.01] * 8])
    fine = np.array([0.5, 0.3, 0.2])
    assert capped(fine, 0.6) is fine


def test_whatever_the_weights_nobody_is_above_and_the_others_stay():
    rng = stream(0, "weights")
    for _ in range(200):
        k = int(rng.integers(1, 30))
        weights = rng.uniform(size=k) ** 12 + 1e-9
        after = capped(weights, 3 / k)
        assert after.max() / after.sum() <= min(1.0, 3 / k) * (1 + 1e-9)
        below = after < after.max()
        assert (after[below] == weights[below]).all()


def test_a_choice_without_weights_is_left_alone_and_so_is_nobody():
    plain = Selection(np.array([3, 1]))
    assert evened(plain) is plain
    nobody = Selection(np.empty(0, np.int64), weights=np.empty(0))
    assert evened(nobody) is nobody
    heavy = evened(Selection(np.arange(10), weights=np.array([50.0, *[1.0] * 9])))
    assert heavy.ids.tolist() == list(range(10))
    assert heavy.weights[0] == pytest.approx(0.3 * heavy.weights.sum())
