"""k-LinUCB against the textbook: normal equations solved outright, at every round."""

import math

import numpy as np
import pytest

from callup import Clients, Feedback, Plan, Round, selector, stream
from callup.analytics.ridge import first_inverse, with_row
from callup.core.errors import InputError, UsageError

# Two bits and the constant: x = (+-1/sqrt 2, +-1/sqrt 2, 1).
CLIENTS = Clients([4, 6, 9], features=[[1, 1], [1, 0], [0, 0]], num_examples=[10, 20, 10])
H = 1 / math.sqrt(2)
X = {4: [H, H, 1], 6: [H, -H, 1], 9: [-H, -H, 1]}


def started(spec="k-linucb", clients=CLIENTS):
    made = selector(spec)
    made.start(clients, Plan(2), stream(0, "start"))
    return made


def told(made, index, loss_rms, clients=CLIENTS):
    made.update(Feedback(index, np.array(list(loss_rms)), {"loss_rms": np.array(list(loss_rms.values()))}, clients))


def scores(made, clients=CLIENTS, index=1):
    """Estimate and bonus of every client, by id."""
    chosen = made.select(Round(index, clients.ids, clients, stream(0, "r")), len(clients))
    order = np.argsort(chosen.ids)
    return chosen.scores["estimate"][order], chosen.scores["bonus"][order]


def test_nothing_is_known_at_first():
    estimate, bonus = scores(started("k-linucb:alpha=3,ridge=4"))
    assert estimate.tolist() == [0, 0, 0]
    # |x|^2 = 2 for everyone: 3 sqrt(2 / 4).
    np.testing.assert_allclose(bonus, 3 * math.sqrt(0.5), rtol=1e-14)


def test_one_round_by_hand():
    made = started()
    told(made, 1, {6: 0.5, 4: 3.0})
    # Utilities 20 * 0.5 = 10 and 10 * 3 = 30: standardised -1 and +1. A = I + x4 x4^T + x6 x6^T with
    # x4 x4^T + x6 x6^T = [[1, 0, 2H], [0, 1, 0], [2H, 0, 2]], so A = [[2, 0, 2H], [0, 2, 0], [2H, 0, 3]] and
    # sum r x = x4 - x6 = (0, 2H, 0): theta = (0, H, 0).
    np.testing.assert_allclose(made.theta(), [0, H, 0], atol=1e-15)
    estimate, bonus = scores(made)
    np.testing.assert_allclose(estimate, [0.5, -0.5, -0.5], rtol=1e-14)
    # The block [[2, 2H], [2H, 3]] has determinant 6 - 2 = 4 and inverse [[3, -2H], [-2H, 2]] / 4.
    own = (3 * 0.5 - 2 * 2 * H * H + 2) / 4 + 0.25  # of 4 and 6: first bit and constant agree
    other = (3 * 0.5 + 2 * 2 * H * H + 2) / 4 + 0.25  # of 9: they do not
    np.testing.assert_allclose(bonus, np.sqrt([own, own, other]), rtol=1e-14)
    # 4: 0.5 + sqrt 0.625 = 1.29; 9: -0.5 + sqrt 1.625 = 0.77; 6: -0.5 + sqrt 0.625 = 0.29.
    assert made.select(Round(2, CLIENTS.ids, CLIENTS, stream(0)), 2).ids.tolist() == [4, 9]


@pytest.mark.parametrize("seed", range(3))
def test_many_rounds_against_an_explicit_inverse(seed):
    rng = stream(seed, "case")
    clients = Clients(
        np.arange(30) * 3, features=rng.integers(0, 2, (30, 8)), num_examples=rng.integers(1, 50, 30).astype(float)
    )
    made = started("k-linucb:alpha=0.7,ridge=0.3", clients)
    everyone = np.column_stack([(2 * clients.all("features") - 1) / math.sqrt(8), np.ones(30)])
    rows, rewards = [], []
    for index in range(1, 41):
        ids = rng.choice(clients.ids, 5, replace=False)
        loss = rng.uniform(0, 3, 5)
        told(made, index, dict(zip(ids.tolist(), loss.tolist(), strict=True)), clients)
        rows.append(everyone[ids // 3])
        rewards.append(clients.of("num_examples", ids) * loss)
    x, r = np.concatenate(rows), np.concatenate(rewards)
    inverse = np.linalg.inv(0.3 * np.eye(9) + x.T @ x)
    theta = inverse @ (x.T @ ((r - r.mean()) / r.std()))
    estimate, bonus = scores(made, clients)
    np.testing.assert_allclose(estimate, everyone @ theta, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(bonus, 0.7 * np.sqrt(np.einsum("ij,jk,ik->i", everyone, inverse, everyone)), rtol=1e-9)


def test_sherman_morrison_is_the_inverse():
    rng = stream(0, "rows")
    rows, inverse = rng.normal(size=(300, 20)), first_inverse(20, 0.5)
    for row in rows:
        inverse = with_row(inverse, row)
    np.testing.assert_allclose(inverse, np.linalg.inv(0.5 * np.eye(20) + rows.T @ rows), rtol=1e-9, atol=1e-12)


def test_what_pays_is_learned():
    # Clients whose first bit is set have five times the loss of the others.
    rng = stream(1, "case")
    bits = rng.integers(0, 2, (200, 10))
    clients = Clients(np.arange(200), features=bits, num_examples=np.full(200, 10))
    made = started(clients=clients)
    for index in range(1, 31):
        chosen = made.select(Round(index, clients.ids, clients, stream(index)), 10)
        told(made, index, {int(i): 5.0 if bits[i, 0] else 1.0 for i in chosen.ids}, clients)
    last = made.select(Round(31, clients.ids, clients, stream(31)), 20).ids
    assert bits[last, 0].all()


def test_equal_rewards_teach_nothing_but_where_one_has_been():
    made = started()
    told(made, 1, {4: 1.0, 6: 0.5})  # utility 10 both
    assert made.theta().tolist() == [0, 0, 0]
    assert scores(made)[1][2] > scores(made)[1][0]


def test_features_of_another_length_are_refused():
    made, other = started(), Clients([1], features=[[1, 0, 1]], num_examples=[1])
    with pytest.raises(InputError, match="features had 2 numbers when the run began, now 3"):
        made.select(Round(1, other.ids, other, stream(0)), 1)


@pytest.mark.parametrize(
    ("spec", "said"), [("k-linucb:alpha=-1", "alpha must not be negative"), ("k-linucb:ridge=0", "ridge must be above")]
)
def test_bad_settings_are_named(spec, said):
    with pytest.raises(UsageError, match=said):
        selector(spec)
