"""The reward network: its beginning, its gradient, its training and the diagonal bonus, by hand and by differences."""

import numpy as np
import pytest

from callup import stream
from callup.analytics.contexts import are_bits, doubled, unit_rows
from callup.analytics.neural_ucb import DiagonalZ, inner_products, squared_lengths
from callup.analytics.reward_fit import Observed, fit, loss
from callup.analytics.reward_net import RewardNet
from callup.core.errors import UsageError

SHAPES = [(2, 2, 2), (6, 4, 2), (6, 8, 3), (4, 10, 4)]  # inputs, width, layers


def contexts(n, numbers, seed=0):
    return doubled(unit_rows(stream(seed, "contexts").normal(size=(n, numbers)), bits=False))


def written_out(of):
    """Gradients as rows of theta's own order."""
    rows = range(len(of.inputs[0]))
    return np.stack(
        [
            np.concatenate([np.outer(s[n], r[n]).ravel() for s, r in zip(of.slopes, of.inputs, strict=True)])
            for n in rows
        ]
    )


def value(theta, x, inputs, width, layers):
    """Eq. 9 for one context, in plain steps."""
    at, signal = 0, x
    for columns in [inputs] + [width] * (layers - 2):
        matrix = theta[at : at + width * columns].reshape(width, columns)
        signal = np.array([max(row @ signal, 0.0) for row in matrix])
        at += width * columns
    return np.sqrt(width) * float(theta[at:] @ signal)


def test_bits_become_signs_of_length_one():
    bits = np.array([[1.0, 0, 0, 1], [0, 0, 0, 0]])
    assert are_bits(bits) and not are_bits(bits + 0.5)
    assert unit_rows(bits, True).tolist() == [[0.5, -0.5, -0.5, 0.5], [-0.5] * 4]
    np.testing.assert_allclose(
        unit_rows(np.array([[3.0, 4.0], [0, 0], [3e300, 4e300]]), False), [[0.6, 0.8], [0, 0], [0.6, 0.8]]
    )
    # [x; x] / sqrt 2 is as long as x.
    np.testing.assert_allclose(doubled(np.array([[0.6, 0.8]])), np.array([[0.6, 0.8, 0.6, 0.8]]) / np.sqrt(2))


@pytest.mark.parametrize(("inputs", "width", "layers"), [*SHAPES, (128, 64, 2), (16, 32, 5)])
def test_f_begins_at_zero(inputs, width, layers):
    net = RewardNet(inputs, width, layers)
    theta = net.initial(stream(0, "theta"))
    f, of = net.factors(theta, contexts(50, inputs // 2))
    np.testing.assert_allclose(f, 0, atol=1e-12)
    assert (squared_lengths(of) > 0).any()  # it is not dead: it can learn
    # With two different halves it would not be zero: the doubling is needed.
    other = stream(1, "halves").normal(size=(50, inputs))
    assert np.abs(net.factors(theta, other)[0]).max() > 0.01


@pytest.mark.parametrize(("inputs", "width", "layers"), SHAPES)
def test_initial_blocks(inputs, width, layers):
    net = RewardNet(inputs, width, layers)
    *hidden, last = net.matrices(net.initial(stream(0, "theta")))
    half = width // 2
    assert [m.shape for m in hidden] == [(width, inputs)] + [(width, width)] * (layers - 2)
    for matrix in hidden:
        middle = matrix.shape[1] // 2
        assert not matrix[:half, middle:].any() and not matrix[half:, :middle].any()
        np.testing.assert_array_equal(matrix[:half, :middle], matrix[half:, middle:])
    np.testing.assert_array_equal(last[0, :half], -last[0, half:])


def test_initial_variances():
    # 50 x 100 entries of variance 4/100 in W_1 and 50 of 2/100 in W_L, over 40 draws: 200,000 and 2,000 numbers.
    net, blocks, tails = RewardNet(200, 100), [], []
    for seed in range(40):
        first, last = net.matrices(net.initial(stream(seed, "theta")))
        blocks.append(first[:50, :100])
        tails.append(last[0, :50])
    # The relative standard error of a variance of n normal numbers is sqrt(2/n): five of them, once in 1.7e6.
    assert abs(np.mean(np.square(blocks)) / (4 / 100) - 1) < 5 * np.sqrt(2 / 200_000)
    assert abs(np.mean(np.square(tails)) / (2 / 100) - 1) < 5 * np.sqrt(2 / 2_000)


def test_width_2_by_hand():
    # W_1 = (1 0 2 0; 0 3 0 -1), W_2 = (2, -4), x = (0.6, 0.8) doubled: 0.6/r, 0.8/r, 0.6/r, 0.8/r with r = sqrt 2.
    # W_1 x = (0.6 + 1.2, 2.4 - 0.8)/r = (1.8, 1.6)/r; f = r (2 * 1.8 - 4 * 1.6)/r = -2.8.
    theta = np.array([1.0, 0, 2, 0, 0, 3, 0, -1, 2, -4])
    net, x = RewardNet(4, 2), doubled(np.array([[0.6, 0.8]]))
    f, of = net.factors(theta, x)
    assert f[0] == pytest.approx(-2.8)
    # d f / d W_2 = r (1.8, 1.6)/r; d f / d W_1 = r (2, -4) outer x = (2, -4) outer (0.6, 0.8, 0.6, 0.8).
    np.testing.assert_allclose(written_out(of)[0], [1.2, 1.6, 1.2, 1.6, -2.4, -3.2, -2.4, -3.2, 1.8, 1.6])
    # |g|^2 = (4 + 16) * 2 * (0.36 + 0.64) + 1.8^2 + 1.6^2 = 45.8
    assert squared_lengths(of)[0] == pytest.approx(45.8)


@pytest.mark.parametrize(("inputs", "width", "layers"), SHAPES)
def test_value_and_gradient_against_plain_steps_and_differences(inputs, width, layers):
    net, rng = RewardNet(inputs, width, layers), stream(2, "theta", inputs, layers)
    theta = net.initial(rng) + 0.3 * rng.normal(size=len(net.initial(rng)))
    x, h = contexts(4, inputs // 2), 1e-6
    f, of = net.factors(theta, x)
    gradients = written_out(of)
    # No unit stands within reach of relu's corner, where differences mean nothing.
    assert min(np.abs(a @ m.T).min() for a, m in zip(of.inputs[:-1], net.matrices(theta)[:-1], strict=True)) > 1e-4
    for n in range(4):
        assert f[n] == pytest.approx(value(theta, x[n], inputs, width, layers), rel=1e-12)
        for i, step in enumerate(np.eye(len(theta)) * h):
            up, down = (value(theta + s, x[n], inputs, width, layers) for s in (step, -step))
            assert gradients[n, i] == pytest.approx((up - down) / (2 * h), rel=1e-6, abs=1e-7)
    np.testing.assert_allclose(inner_products(of, of), gradients @ gradients.T, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("inputs", "width", "layers"), SHAPES)
def test_loss_counts_each_observation_and_its_gradient_is_its_slope(inputs, width, layers):
    net, rng = RewardNet(inputs, width, layers), stream(1, "theta", inputs, layers)
    start = net.initial(rng)
    theta = start + 0.3 * rng.normal(size=len(start))
    x = contexts(3, inputs // 2)
    rewards = [[1.0, -2.0], [0.5], [3.0, 0.0, 1.5]]  # context 0 twice, 1 once, 2 three times
    seen = Observed(x, np.array([np.mean(r) for r in rewards]), np.array([2.0, 1.0, 3.0]))

    def plain(at):
        misses = sum((value(at, x[n], inputs, width, layers) - r) ** 2 for n in range(3) for r in rewards[n])
        return 0.5 * misses + 0.5 * width * 0.7 * float(((at - start) ** 2).sum())

    spread = sum(len(r) * np.var(r) for r in rewards) / 2  # the constant that means leave out
    total, gradient = loss(net, theta, start, seen, 0.7)
    assert total + spread == pytest.approx(plain(theta), rel=1e-12)
    for i, step in enumerate(np.eye(len(theta)) * 1e-6):
        assert gradient[i] == pytest.approx((plain(theta + step) - plain(theta - step)) / 2e-6, rel=1e-5, abs=1e-6)


def test_one_step_by_hand():
    # Two observations, f = 0 at theta_0: the step is -(rate / 2) ((0 - r_1) g_1 + (0 - r_2) g_2).
    net, x = RewardNet(4, 4), contexts(2, 2)
    start = net.initial(stream(0, "theta"))
    g = written_out(net.factors(start, x)[1])
    moved = fit(net, start, start, Observed(x, np.array([1.0, -3.0]), np.ones(2)), ridge=0.1, rate=0.01, steps=1)
    np.testing.assert_allclose(moved - start, 0.005 * (g[0] - 3 * g[1]), atol=1e-15)
    again = fit(net, start, start, Observed(x, np.array([1.0, -3.0]), np.ones(2)), ridge=0.1, rate=0.01, steps=0)
    np.testing.assert_array_equal(again, start)


@pytest.mark.parametrize("rate", [0.01, 1.0, 1e6, 1e300])
def test_training_never_makes_it_worse(rate):
    net, x, rng = RewardNet(8, 16, 3), contexts(20, 4), stream(0, "r")
    start = net.initial(stream(0, "theta"))
    seen = Observed(x, rng.normal(size=20), rng.integers(1, 9, 20).astype(float))
    theta, last = start, loss(net, start, start, seen, 0.01)[0]
    for _ in range(5):
        theta = fit(net, theta, start, seen, ridge=0.01, rate=rate, steps=20)
        now = loss(net, theta, start, seen, 0.01)[0]
        assert now <= last
        last = now
    if rate <= 1:
        assert last < 0.7 * loss(net, start, start, seen, 0.01)[0]


def test_diagonal_bonus_by_hand():
    # The network of width 2 above: g^2 = 1.44, 2.56, 1.44, 2.56, 5.76, 10.24, 5.76, 10.24, 3.24, 2.56; sum 45.8.
    theta = np.array([1.0, 0, 2, 0, 0, 3, 0, -1, 2, -4])
    net = RewardNet(4, 2)
    of = net.factors(theta, doubled(np.array([[0.6, 0.8]])))[1]
    z = DiagonalZ(net, ridge=0.5)
    np.testing.assert_allclose(z.bonus(z.empty(), of), [np.sqrt(45.8 / 0.5 / 2)])
    # Observed once: Z_i = 0.5 + g_i^2 / 2.
    squares = np.array([1.44, 2.56, 1.44, 2.56, 5.76, 10.24, 5.76, 10.24, 3.24, 2.56])
    once = z.added(z.empty(), of)
    np.testing.assert_allclose(once, 0.5 + squares / 2)
    np.testing.assert_allclose(z.bonus(once, of), [np.sqrt((squares / (0.5 + squares / 2)).sum() / 2)])


@pytest.mark.parametrize(
    ("inputs", "width", "layers", "message"),
    [
        (3, 4, 2, "inputs must be an even number"),
        (4, 5, 2, "width must be an even number of at least 2, got 5"),
        (4, 0, 2, "width must be an even number of at least 2, got 0"),
        (4, 4, 1, "layers must be at least 2, got 1"),
    ],
)
def test_impossible_shapes(inputs, width, layers, message):
    with pytest.raises(UsageError, match=message):
        RewardNet(inputs, width, layers)
