"""FedNova by hand, against SGD written out, and on the problem it was made for."""

import numpy as np
import pytest

from callup.core.catalogue import AVERAGES
from callup.core.clients import Clients
from callup.core.errors import UsageError
from callup.core.types import Replies

CLIENTS = Clients([0, 1, 2], num_examples=[10, 30, 60])
NOW = np.array([1.0, -2.0], np.float32)


def replies(models, sizes, steps):
    models = np.array(models, np.float32).reshape(len(sizes), -1)
    return Replies(
        np.arange(len(sizes)), NOW[: models.shape[1]], models, np.array(sizes, float), np.array(steps, float)
    )


def combine(spec, given, weights=None):
    return AVERAGES.make(spec).combine(given.start, given, CLIENTS, weights)


def test_unequal_steps_by_hand():
    # q = 1/4, 3/4; tau = 2, 6; tau_eff = 0.5 + 4.5 = 5. Updates (4, 0) and (6, 12): per step (2, 0) and (1, 2).
    # 5 (0.25 (2, 0) + 0.75 (1, 2)) = (6.25, 7.5); the mean by size would move by (5.5, 9).
    new = combine("fednova", replies([[5, -2], [7, 10]], [10, 30], [2, 6]))
    np.testing.assert_allclose(new, [7.25, 5.5], rtol=1e-6)
    assert new.dtype == np.float32


@pytest.mark.parametrize("spec", ["fednova", "fednova:momentum=0.9"])
@pytest.mark.parametrize("weights", [None, np.array([3.0, 1.0, 1.0])])
def test_with_equal_steps_it_is_the_weighted_mean(spec, weights):
    models = np.random.default_rng(0).normal(size=(3, 2))
    given = replies(models, [10, 30, 60], [7, 7, 7])
    np.testing.assert_allclose(combine(spec, given, weights), combine("weighted", given, weights), rtol=1e-5)


def test_weights_of_the_selection_replace_the_shares():
    # q = 1/2 each: tau_eff = 4 and 4 (0.5 (2, 0) + 0.5 (1, 2)) = (6, 4).
    new = combine("fednova", replies([[5, -2], [7, 10]], [10, 30], [2, 6]), np.array([5.0, 5.0]))
    np.testing.assert_allclose(new, [7, 2], rtol=1e-6)


def test_weights_of_local_models_are_left_as_they_are():
    # 1/4 (4, 0) + 3/4 (6, 12) = (5.5, 9), whoever took how many steps.
    given = replies([[5, -2], [7, 10]], [10, 30], [2, 6])
    new = AVERAGES.make("fednova").mixed(NOW, given, CLIENTS, np.array([1.0, 3.0]))
    np.testing.assert_allclose(new, [6.5, 7], rtol=1e-6)


def test_who_took_no_step_has_no_direction_and_shortens_the_way():
    # q = 1/4, 3/4; tau = 0, 6; tau_eff = 4.5; 4.5 x 0.75 x (1, 2) = (3.375, 6.75).
    new = combine("fednova", replies([[1, -2], [7, 10]], [10, 30], [0, 6]))
    np.testing.assert_allclose(new, [4.375, 4.75], rtol=1e-6)


def test_without_any_samples_the_model_stays():
    np.testing.assert_array_equal(combine("fednova", replies([[5, 5]], [0], [3])), NOW)


def sgd(steps, momentum, proximal, rate, gradient=1.0):
    """How far one weight goes under a constant gradient, in units of the rate: local training written out."""
    start = weight = velocity = 0.0
    for _ in range(steps):
        velocity = momentum * velocity + gradient + proximal * (weight - start)
        weight -= rate * velocity
    return (start - weight) / (rate * gradient)


@pytest.mark.parametrize(
    ("momentum", "proximal", "rate"), [(0.9, 0.0, 0.1), (0.0, 0.5, 0.1), (0.9, 1.0, 0.3), (0.5, 0.2, 1.0)]
)
def test_coefficients_are_those_of_local_sgd(momentum, proximal, rate):
    rule = AVERAGES.make(f"fednova:momentum={momentum},proximal={proximal},rate={rate}")
    steps = [40, 1, 2, 3, 10, 3, 0]
    expected = [sgd(n, momentum, proximal, rate) for n in steps]
    np.testing.assert_allclose(rule.travelled(np.array(steps)), expected, rtol=1e-9, atol=1e-12)


def test_closed_forms_of_the_paper():
    steps = np.array([1, 5, 30])
    # Momentum: sum over t of (1 - rho^t)/(1 - rho). Proximal: (1 - (1 - eta mu)^tau)/(eta mu).
    momentum = [sum((1 - 0.9**t) / 0.1 for t in range(1, n + 1)) for n in steps]
    np.testing.assert_allclose(AVERAGES.make("fednova:momentum=0.9").travelled(steps), momentum)
    proximal = (1 - (1 - 0.05) ** steps) / 0.05
    np.testing.assert_allclose(AVERAGES.make("fednova:proximal=0.5,rate=0.1").travelled(steps), proximal)


def test_with_a_proximal_term_the_way_is_counted_in_plain_steps():
    # eta mu = 0.5: a = 1 and 1.75 after 1 and 3 steps. q = 1/2: tau_eff = 2, and 2 (0.5 x 4/1 + 0.5 x 7/1.75) = 8.
    new = combine("fednova:proximal=5,rate=0.1", replies([[5.0], [8.0]], [10, 10], [1, 3]))
    np.testing.assert_allclose(new, [9], rtol=1e-6)


def test_the_fixed_point_does_not_lean_to_whoever_works_more():
    # Two equal clients with losses (w - 0)^2/2 and (w - 1)^2/2, rate 0.01, 1 and 20 steps; the best w is 1/2. A round
    # takes the second one 1 - 0.99^20 = 0.182 of its way, the first 0.01: their plain mean stands still at 0.948.
    ends = {}
    for spec in ("fednova", "weighted"):
        rule, w = AVERAGES.make(spec), np.zeros(1, np.float32)
        for _ in range(600):
            local = np.array([[w[0] * 0.99], [1 + (w[0] - 1) * 0.99**20]], np.float32)
            given = Replies(np.arange(2), w, local, np.ones(2), np.array([1.0, 20.0]))
            w = rule.combine(w, given, CLIENTS)
        ends[spec] = float(w[0])
    assert ends["weighted"] == pytest.approx((1 - 0.99**20) / (1 - 0.99**20 + 0.01), abs=1e-3)
    # Not exactly 1/2: later steps of a long way are shorter. Per step 0.0091 against 0.01.
    per_step = (1 - 0.99**20) / 20
    assert ends["fednova"] == pytest.approx(per_step / (per_step + 0.01), abs=1e-3)
    assert abs(ends["fednova"] - 0.5) < 0.03


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("fednova:momentum=1", "momentum must be from 0 to below 1"),
        ("fednova:proximal=-1", "proximal must not be negative"),
        ("fednova:proximal=0.1", "set rate"),
        ("fednova:proximal=10,rate=0.1", "rate times proximal below 1"),
        ("fednova:rate=0", "rate must be above 0"),
    ],
)
def test_bad_parameters_are_refused(spec, sentence):
    with pytest.raises(UsageError, match=sentence):
        AVERAGES.make(spec)
