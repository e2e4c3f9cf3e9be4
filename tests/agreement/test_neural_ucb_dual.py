"""NCCB never writes Z out; here it is written out, p x p, and inverted."""

import numpy as np
import pytest

from callup import Clients, Feedback, Plan, Round, selector, stream
from callup.analytics.contexts import doubled, unit_rows
from callup.analytics.neural_ucb import DiagonalZ, FullZ
from callup.analytics.reward_net import RewardNet

RIDGE, WIDTH = 0.3, 6


def gradient(net, theta, x):
    """Of one context, by going through the layers one number at a time."""
    matrices = net.matrices(theta)
    signals = [x]
    for matrix in matrices[:-1]:
        signals.append(np.maximum(matrix @ signals[-1], 0))
    slope, parts = np.array([np.sqrt(net.width)]), []
    for layer in range(len(matrices) - 1, -1, -1):
        parts.append(np.outer(slope, signals[layer]).ravel())
        slope = (matrices[layer].T @ slope) * (signals[layer] > 0)
    return np.concatenate(parts[::-1])


def explicit_bonus(z, g):
    return np.sqrt(g @ np.linalg.inv(z) @ g / WIDTH)


def scenes(layers):
    """Three batches of observations, each with parameters of its own, and contexts to be judged."""
    net, rng = RewardNet(8, WIDTH, layers), stream(layers, "scenes")
    theta = net.initial(rng)
    batches = [(theta + 0.2 * i * rng.normal(size=len(theta)), _contexts(rng, n)) for i, n in enumerate((1, 4, 9))]
    return net, batches, theta + 0.5 * rng.normal(size=len(theta)), _contexts(rng, 30)


def _contexts(rng, n):
    return doubled(unit_rows(rng.normal(size=(n, 4)), bits=False))


@pytest.mark.parametrize("layers", [2, 3])
def test_the_dual_is_the_explicit_matrix(layers):
    net, batches, theta, judged = scenes(layers)
    full, z = FullZ(net, RIDGE, most=100), RIDGE * np.eye(len(theta))
    kept = full.empty()
    for at, x in [(theta, judged[:0]), *batches]:  # the first is an empty round: Z is ridge I
        kept = full.added(kept, net.factors(at, x)[1])
        for row in x:
            g = gradient(net, at, row)
            z += np.outer(g, g) / WIDTH
        expected = [explicit_bonus(z, gradient(net, theta, row)) for row in judged]
        np.testing.assert_allclose(full.bonus(kept, net.factors(theta, judged)[1]), expected, rtol=1e-10)


@pytest.mark.parametrize("layers", [2, 3])
def test_the_diagonal_is_that_of_the_explicit_matrix(layers):
    net, batches, theta, judged = scenes(layers)
    diagonal, z = DiagonalZ(net, RIDGE), np.full(len(theta), RIDGE)
    kept = diagonal.empty()
    for at, x in batches:
        kept = diagonal.added(kept, net.factors(at, x)[1])
        z += sum(gradient(net, at, row) ** 2 for row in x) / WIDTH
    np.testing.assert_allclose(kept, z, rtol=1e-12)
    expected = [np.sqrt((gradient(net, theta, row) ** 2 / z).sum() / WIDTH) for row in judged]
    np.testing.assert_allclose(diagonal.bonus(kept, net.factors(theta, judged)[1]), expected, rtol=1e-12)


def test_what_is_forgotten_is_the_oldest():
    net, batches, theta, judged = scenes(2)
    full, z = FullZ(net, RIDGE, most=5), RIDGE * np.eye(len(theta))
    kept = full.empty()
    for at, x in batches:
        kept = full.added(kept, net.factors(at, x)[1])
    at, x = batches[-1]
    for row in x[-5:]:
        z += np.outer(gradient(net, at, row), gradient(net, at, row)) / WIDTH
    expected = [explicit_bonus(z, gradient(net, theta, row)) for row in judged]
    np.testing.assert_allclose(full.bonus(kept, net.factors(theta, judged)[1]), expected, rtol=1e-10)


def test_a_direction_seen_many_times_has_no_negative_bonus():
    net, _, theta, judged = scenes(2)
    of = net.factors(theta, judged[:1])[1]
    full = FullZ(net, 1e-9, most=200)
    kept = full.empty()
    for _ in range(200):
        kept = full.added(kept, of)
    # g^T Z^-1 g / w for Z = ridge I + n g g^T / w is s / (ridge + n s) < 1/n with s = |g|^2 / w.
    assert 0 <= full.bonus(kept, of)[0] < np.sqrt(1 / 200) * 1.01


@pytest.mark.parametrize("z", ["diag", "full"])
def test_the_selector_in_play(z):
    """Rounds with lost replies: the bonus it reports is that of an explicit Z fed at the parameters of the choice."""
    rng = stream(0, "play")
    clients = Clients(np.arange(7), features=rng.normal(size=(7, 3)), num_examples=rng.integers(5, 50, 7))
    nccb = selector(f"nccb:z={z},explore=0,clusters=2,width={WIDTH},ridge={RIDGE},gamma=0.7")
    nccb.start(clients, Plan(3), stream(0, "start"))
    net, inputs = RewardNet(6, WIDTH), doubled(unit_rows(clients.all("features"), bits=False))
    explicit = RIDGE * np.eye(len(nccb.theta_))
    for index in range(1, 8):
        everyone = nccb.select(Round(index, clients.ids, clients, stream(index, "look")), 7)
        seen = explicit if z == "full" else np.diag(np.diag(explicit))
        expected = [0.7 * explicit_bonus(seen, gradient(net, nccb.theta_, inputs[i])) for i in everyone.ids]
        np.testing.assert_allclose(everyone.scores["bonus"], expected, rtol=1e-9)
        chosen = nccb.select(Round(index, clients.ids, clients, stream(index, "r")), 3).ids
        back = chosen[:2] if index % 2 else chosen
        for i in back:
            g = gradient(net, nccb.theta_, inputs[i])
            explicit += np.outer(g, g) / WIDTH
        lost = {int(i): "no reply" for i in chosen[len(back) :]}
        losses = stream(index, "loss").uniform(0.1, 2, len(back))
        before = nccb.theta_.copy()
        nccb.update(Feedback(index, back, {"loss_rms": losses}, clients, lost))
    assert (nccb.theta_ != before).any()  # it trained, so the parameters of the choice were not those of the end
