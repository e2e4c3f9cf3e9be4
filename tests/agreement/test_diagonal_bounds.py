"""Bounds for very many clients against the plain sums: doubled contexts, gradients in factors, Z as written."""

import numpy as np
import pytest

from callup.analytics.contexts import doubled, unit_rows
from callup.analytics.diagonal_bounds import DiagonalBounds
from callup.analytics.neural_ucb import DiagonalZ
from callup.analytics.reward_net import RewardNet


@pytest.mark.parametrize("bits", [True, False])
@pytest.mark.parametrize("layers", [2, 3, 4])
def test_estimates_and_bonuses_are_those_of_the_plain_sums(layers, bits):
    rng = np.random.default_rng(layers)
    features = rng.integers(0, 2, (60, 12)).astype(float) if bits else rng.normal(size=(60, 12))
    features[5] = 0
    net = RewardNet(24, 16, layers)
    theta = net.initial(rng)
    theta += rng.normal(0, 0.1, len(theta))  # no longer two equal halves
    plain, x = DiagonalZ(net, 0.1), doubled(unit_rows(features, bits))
    z = plain.added(plain.empty(), net.factors(theta, x[:20])[1])
    estimate, gradients = net.factors(theta, x)
    got_estimate, got_bonus = DiagonalBounds(net, theta, z, bits).of(features)
    np.testing.assert_allclose(got_estimate, estimate, atol=1e-13)
    np.testing.assert_allclose(got_bonus, plain.bonus(z, gradients), rtol=1e-13)
    assert np.ptp(got_bonus) > 0.1
