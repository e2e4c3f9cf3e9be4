"""The Gaussian process in few dimensions against the same with every N x N matrix written out."""

import numpy as np
import pytest

from callup import stream
from callup.analytics.gaussian_process import fitted, groups, log_likelihood, most_telling, slope


def case(seed, n=9, dimensions=3, records=5):
    """Places, and records of which each misses some clients."""
    rng = stream(seed, "case")
    values = rng.normal(size=(n, records))
    values[rng.random((n, records)) < 0.3] = np.nan
    values[:, 0] = np.nan  # a record nobody was heard in
    return rng.normal(size=(n, dimensions)), values, rng.uniform(0.2, 1, records)


@pytest.mark.parametrize("seed", range(5))
def test_likelihood_of_the_full_matrix(seed):
    places, values, weights = case(seed)
    full = places @ places.T + 0.3**2 * np.eye(len(places))
    expected = 0.0
    for column, weight in zip(values.T, weights, strict=True):
        here = ~np.isnan(column)
        if not here.any():
            continue
        sigma, y = full[np.ix_(here, here)], column[here]
        expected -= 0.5 * weight * (y @ np.linalg.inv(sigma) @ y + np.log(np.linalg.det(sigma)))
    assert log_likelihood(places, groups(values, weights), 0.3) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_slope_by_small_differences(seed):
    places, values, weights = case(seed)
    found, step = groups(values, weights), 1e-6
    uphill = slope(places, found, 0.5)
    for at in np.ndindex(places.shape):
        moved = np.zeros_like(places)
        moved[at] = step
        rise = log_likelihood(places + moved, found, 0.5) - log_likelihood(places - moved, found, 0.5)
        assert uphill[at] == pytest.approx(rise / (2 * step), rel=1e-4, abs=1e-5)


def test_records_of_the_same_clients_are_one_group():
    values = np.array([[1.0, 2.0, np.nan], [3.0, 4.0, 5.0]])
    found = groups(values, np.array([1.0, 0.5, 0.25]))
    assert sorted((g.rows.tolist(), g.values.tolist(), g.weights.tolist()) for g in found) == [
        ([0, 1], [[1, 2], [3, 4]], [1, 0.5]),
        ([1], [[5]], [0.25]),
    ]


def test_a_fit_climbs_and_finds_who_moves_together():
    # Clients 0-4 share one coin, 5-9 another: correlation 1 inside a block and 0 between them.
    rng = stream(0, "blocks")
    coins = rng.normal(size=(2, 40))
    values = np.repeat(coins, 5, axis=0) + 0.05 * rng.normal(size=(10, 40))
    found = groups(values, np.ones(40))
    begin = rng.normal(size=(10, 4)) / 2
    places = fitted(begin, found, 0.1, 1000, 0.03)
    truth = np.repeat(np.eye(4)[:2], 5, axis=0)
    assert log_likelihood(places, found, 0.1) > log_likelihood(truth, found, 0.1) > log_likelihood(begin, found, 0.1)
    unit = places / np.linalg.norm(places, axis=1, keepdims=True)
    cosine = unit @ unit.T
    assert cosine[:5, :5].min() > 0.99
    assert cosine[5:, 5:].min() > 0.99
    # Between the blocks stands what the coins happened to have in common.
    assert np.abs(cosine[:5, 5:] - np.corrcoef(coins)[0, 1]).max() < 0.1


@pytest.mark.parametrize("seed", range(10))
def test_picks_by_explicit_conditioning(seed):
    rng = stream(seed, "picks")
    places = rng.normal(size=(20, 4))
    share, noise = rng.dirichlet(np.ones(20)), float(rng.choice([0.01, 0.3, 1.0]))
    candidates = rng.permutation(20)[:12]
    discount = rng.choice([0.81, 0.9, 1.0], 12)
    sigma, expected, scores = places @ places.T, [], []
    for _ in range(3):
        best, most = -1, -np.inf
        for at, k in enumerate(candidates):
            score = discount[at] * (share @ sigma[:, k]) * np.sqrt(sigma[k, k]) / (sigma[k, k] + noise**2)
            if at not in expected and score > most:
                best, most = at, score
        k = candidates[best]
        sigma = sigma - np.outer(sigma[:, k], sigma[k]) / (sigma[k, k] + noise**2)
        expected.append(best)
        scores.append(most)
    picked, gain = most_telling(places, share, candidates, discount, noise, 3)
    assert picked.tolist() == expected
    np.testing.assert_allclose(gain, scores, rtol=1e-6)


def test_more_picks_than_dimensions_name_everyone_once():
    places = stream(0, "few").normal(size=(12, 2))
    picked, gain = most_telling(places, np.full(12, 1 / 12), np.arange(12), np.ones(12), 0.01, 20)
    assert sorted(picked.tolist()) == list(range(12))
    assert np.isfinite(gain).all()
