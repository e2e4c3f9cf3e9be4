"""Skewness: three clients by hand, order by brute force, and what is refused."""

import math
import runpy
from pathlib import Path

import numpy as np
import pytest

from callup import stream
from callup.analytics.skewness import analyse, rewards
from callup.core.errors import InputError, UsageError

# The mean of these is (1, 2); squared distances from it are 1 + 4 = 5, 4 + 4 = 8 and 1 + 16 = 17.
VECTORS = [[0, 0], [3, 0], [0, 6]]
SQUARED = np.array([5.0, 8.0, 17.0])


def test_three_clients_by_hand():
    found = analyse(VECTORS, ids=[7, 2, 5], sizes=[9, 9, 9])
    assert found.ids.tolist() == [7, 2, 5]
    np.testing.assert_allclose(found.distance, np.sqrt(SQUARED), rtol=1e-15)
    np.testing.assert_allclose(found.q, np.sqrt(SQUARED), rtol=1e-15)
    np.testing.assert_allclose(found.reward, -np.sqrt(SQUARED), rtol=1e-15)
    assert found.ranking.tolist() == [7, 2, 5]
    assert math.isclose(found.centre_norm, math.sqrt(5))
    # Numbers run from 0 to 6, so ln P = 2 ln 2 - 2 * 9 * d^2 / 36.
    assert (found.bounds, found.estimated_bounds) == ((0.0, 6.0), True)
    np.testing.assert_allclose(found.log_p, 2 * math.log(2) - SQUARED / 2, rtol=1e-14)


def test_given_bounds_are_used_and_not_called_estimated():
    # -4 to 8: ln P = 2 ln 2 - 2 * 9 * d^2 / 144.
    found = analyse(VECTORS, sizes=[9, 9, 9], bounds=(-4, 8))
    assert (found.bounds, found.estimated_bounds) == ((-4.0, 8.0), False)
    np.testing.assert_allclose(found.log_p, 2 * math.log(2) - SQUARED / 8, rtol=1e-14)


def test_without_sizes_each_vector_is_one_sample():
    np.testing.assert_allclose(analyse(VECTORS).log_p, 2 * math.log(2) - 2 * SQUARED / 36, rtol=1e-14)


def test_sizes_alone_change_p_and_not_the_order():
    # n = 1, 9, 2, mean 4. Squares times n: 5, 72, 34, so P ranks the second client last; size-aware, Q does too.
    plain, aware = (analyse(VECTORS, sizes=[1, 9, 2], size_aware=a) for a in (False, True))
    for found in (plain, aware):
        np.testing.assert_allclose(found.log_p, 2 * math.log(2) - np.array([5, 72, 34]) / 18, rtol=1e-14)
    assert plain.ranking.tolist() == [0, 1, 2]
    np.testing.assert_allclose(aware.q, np.sqrt(np.array([5, 72, 34]) / 4), rtol=1e-14)
    assert aware.ranking.tolist() == [0, 2, 1]


def naive_p(vectors, i, samples, span):
    """Eqs. 12, 13 and 22, factor by factor."""
    p = 1.0
    for k in range(len(vectors[0])):
        mean = sum(row[k] for row in vectors) / len(vectors)
        p *= 2 * math.exp(-2 * (vectors[i][k] - mean) ** 2 * samples / span**2)
    return p


@pytest.mark.parametrize("seed", range(30))
def test_higher_p_is_lower_q_is_higher_reward(seed):
    rng = stream(seed, "order")
    n, dimensions = int(rng.integers(3, 8)), int(rng.integers(1, 6))
    vectors = rng.normal(size=(n, dimensions))
    sizes = rng.integers(1, 20, n) if seed % 2 else np.full(n, int(rng.integers(1, 20)))
    span = float(vectors.max() - vectors.min())
    expected = [naive_p(vectors.tolist(), i, sizes[i], span) for i in range(n)]
    found = analyse(vectors, sizes=sizes, size_aware=bool(seed % 2))
    np.testing.assert_allclose(found.log_p, np.log(expected), rtol=1e-9, atol=1e-9)
    for i in range(n):
        for j in range(n):
            if abs(math.log(expected[i]) - math.log(expected[j])) > 1e-9:
                higher = expected[i] > expected[j]
                assert higher == (found.q[i] < found.q[j]) == (found.reward[i] > found.reward[j])
    wider = analyse(vectors, sizes=sizes, bounds=(-50, 70), size_aware=bool(seed % 2))
    assert wider.ranking.tolist() == found.ranking.tolist()
    assert (wider.log_p > found.log_p).all()


def test_neither_the_order_of_clients_nor_the_step_size_matters():
    rng = stream(0, "steps")
    vectors, ids, order = rng.normal(size=(6, 4)), np.array([3, 1, 4, 9, 5, 8]), rng.permutation(6)
    first, other = analyse(vectors, ids), analyse(0.01 * vectors[order], ids[order])
    assert first.ranking.tolist() == other.ranking.tolist()
    np.testing.assert_allclose(first.log_p[order], other.log_p, rtol=1e-12)


def test_two_are_equally_far_and_equals_stand_in_the_order_of_ids():
    for seed in range(20):
        assert analyse(stream(seed, "pair").normal(size=(2, 1000)), ids=[9, 4]).ranking.tolist() == [4, 9]


def test_all_the_same_is_as_unskewed_as_can_be():
    found = analyse([[2.0, 2.0]] * 3, sizes=[5, 6, 7])
    assert found.distance.tolist() == [0, 0, 0]
    np.testing.assert_allclose(found.log_p, 2 * math.log(2))


def test_float32_vectors_and_the_selectors_own_rewards():
    vectors = np.array(VECTORS, np.float32)
    np.testing.assert_allclose(analyse(vectors, bounds=(-1e40, 1e40)).reward, rewards(vectors), rtol=1e-15)
    np.testing.assert_allclose(rewards(vectors, np.array([1, 9, 2])), -np.sqrt([5, 72, 34]), rtol=1e-15)
    # 0.1 in float32 lies just above 0.1: rounding is no reason to refuse.
    assert not analyse(np.float32([[0.1], [0.0], [0.05]]), bounds=(0, 0.1)).estimated_bounds


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: analyse([1.0, 2.0]), r"insights must be numbers of shape .* got float64 of \(2,\)"),
        (lambda: analyse(np.empty((3, 0))), r"insights must be numbers of shape .* got float64 of \(3, 0\)"),
        (lambda: analyse([["a"], ["b"]]), "insights must be numbers"),
        (lambda: analyse([[1.0, 2.0], [3.0]]), "insights must be vectors of one length"),
        (lambda: analyse([[1.0, 2.0]]), "insights of at least two are needed, got 1"),
        (lambda: analyse([[1.0], [math.nan]], ids=[4, 6]), "client 6: insights must be finite .* got nan"),
        (lambda: analyse([[-math.inf], [1.0]], ids=[4, 6]), "client 4: insights must be finite .* got inf"),
        (lambda: analyse([[1.0], [1e200]]), r"client 1: insights must be finite numbers below 1e\+150 .* got 1e\+200"),
        (lambda: analyse(VECTORS, ids=[1, 2]), "insights of 3 clients need 3 ids, got 2"),
        (lambda: analyse(VECTORS, ids=[1, 2, 1]), "client 1 is listed twice"),
        (lambda: analyse(VECTORS, ids=[1.5, 2, 3]), "client ids must be a flat list of whole numbers"),
        (lambda: analyse(VECTORS, sizes=[1, 2]), r"sizes must be 3 numbers, one for each client, got shape \(2,\)"),
        (lambda: analyse(VECTORS, sizes=[1, 0, 2]), "client 1: size must be a finite number above 0, got 0"),
        (lambda: analyse(VECTORS, sizes=[1, 2, math.nan]), "client 2: size must be a finite number above 0, got nan"),
        (lambda: analyse(VECTORS, bounds=(1,)), "bounds must be two numbers"),
        (lambda: analyse(VECTORS, bounds=3), "bounds must be two numbers"),
        (lambda: analyse(VECTORS, bounds=(6, 0)), "a_min below b_max, got 6 and 0"),
        (lambda: analyse(VECTORS, bounds=(0, math.inf)), "bounds must be finite"),
        (lambda: analyse(VECTORS, bounds=(0, 5)), "client 2: insights must be within the bounds 0 to 5, .* got 6"),
        (lambda: analyse(VECTORS, bounds=(1, 9)), "client 0: insights must be within the bounds 1 to 9, .* got 0"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_size_aware_needs_sizes():
    with pytest.raises(UsageError, match="size_aware needs sizes"):
        analyse(VECTORS, size_aware=True)


def test_the_example_ranks_as_its_clients_were_made(capsys):
    runpy.run_path(str(Path(__file__).resolve().parents[2] / "examples" / "skewness.py"))
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:9]]
    parts = [float(row[-1].rstrip("%")) for row in rows]
    # From the third on in the order of how much they love one class; 0 % and 5 % are too close to tell apart.
    assert sorted(parts[:2]) == [0, 5]
    assert parts[2:] == [10, 20, 35, 50, 70, 90]
