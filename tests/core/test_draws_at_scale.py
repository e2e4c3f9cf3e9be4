"""Draws take short cuts where there are many clients: they must name the same clients as the rules written plainly."""

from __future__ import annotations

import numpy as np
import pytest

from callup.core import draws
from callup.core.errors import ContractError
from callup.core.index import Index
from callup.core.per_client import PerClient
from callup.core.randomness import client_uniforms, stream

ODD = np.array([0.0, 1.0, 1 + 1e-13, 2.0, -np.inf, np.inf, 1.797e308, -1.797e308, 5e-324, -1e30, 1e30 * (1 + 1e-12)])


def plain_top(ids: np.ndarray, scores: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    tie = client_uniforms(rng, ids)
    return ids[np.lexsort((tie, -draws.quantised(scores)))[:k]]


def plain_weighted(ids: np.ndarray, log_weights: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    gumbel = -np.log(-np.log(client_uniforms(rng, ids)))
    return plain_top(ids, log_weights + gumbel, k, rng)


def some_ids(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.sort(rng.choice(10 * n, n, replace=False))


@pytest.mark.parametrize("seed", range(200))
def test_top_and_who_is_among_it(seed: int) -> None:
    rng = stream(seed, "case")
    n, k = int(rng.integers(1, 60)), int(rng.integers(0, 62))
    ids, scores = some_ids(rng, n), rng.choice(np.append(ODD, rng.random(3)), n)
    expected = plain_top(ids, scores, k, stream(seed, "draw"))
    assert draws.top(ids, scores, k, stream(seed, "draw")).tolist() == expected.tolist()
    assert ids[draws.among_top(ids, scores, k, stream(seed, "draw"))].tolist() == sorted(expected)


@pytest.mark.parametrize("k", [1, 1000, 69_999, 70_000, 10**6])
@pytest.mark.parametrize("kind", ["equal", "few", "all different", "infinite"])
def test_top_of_many(kind: str, k: int) -> None:
    rng, n = stream(0, kind), 70_000
    scores = {
        "equal": np.ones(n),
        "few": rng.integers(0, 50, n).astype(float),
        "all different": rng.random(n),
        "infinite": rng.choice([np.inf, -np.inf, 1.0], n),
    }[kind]
    ids = 3 * np.arange(n)
    assert np.array_equal(draws.top(ids, scores, k, stream(1)), plain_top(ids, scores, k, stream(1)))


@pytest.mark.parametrize("seed", range(200))
def test_weighted(seed: int) -> None:
    """From weights that hardly differ to weights of which one alone has a chance, with zeros and infinities."""
    rng = stream(seed, "case")
    n, k = int(rng.integers(100, 3000)), int(rng.integers(1, 9))
    ids, log_weights = some_ids(rng, n), rng.normal(size=n) * 10.0 ** rng.integers(-3, 14)
    if seed % 3 == 0:
        log_weights[rng.random(n) < 0.2] = -np.inf
    if seed % 5 == 0:
        log_weights = np.round(log_weights)
    if seed % 7 == 0:
        log_weights[rng.random(n) < 0.001] = np.inf
    expected = plain_weighted(ids, log_weights, k, stream(seed, "draw"))
    assert draws.weighted(ids, log_weights, k, stream(seed, "draw")).tolist() == expected.tolist()


@pytest.mark.parametrize("n", [10, 5000])
def test_a_weight_that_is_not_a_number_is_refused_however_many_there_are(n: int) -> None:
    log_weights = np.zeros(n)
    log_weights[n // 2] = np.nan
    with pytest.raises(ContractError, match=f"client {n // 2} is not a number"):
        draws.weighted(np.arange(n), log_weights, 2, stream(0))


def test_one_of_each_group() -> None:
    rng = stream(3, "case")
    ids, group = some_ids(rng, 400), rng.integers(0, 30, 400)
    group[group == 7] = 8  # nobody is in group 7
    shuffled = np.lexsort((client_uniforms(stream(4), ids), group))
    expected = [next(row for row in shuffled if group[row] == g) for g in range(30) if g != 7]
    assert draws.one_of_each(ids, group, stream(4)).tolist() == expected
    assert len(draws.one_of_each(ids[:0], group[:0], stream(4))) == 0


def test_rows_are_found_from_either_side() -> None:
    index = Index(np.array([2, 5, 9, 11]))
    asked = np.array([0, 2, 3, 5, 6, 7, 8, 9, 10])  # more than there are, sorted
    rows, here = index.find(asked)
    assert np.flatnonzero(here).tolist() == [1, 3, 7]
    assert rows[here].tolist() == [0, 1, 2]
    mixed, there = index.find(asked[::-1])  # not sorted: looked up one by one
    assert mixed[there].tolist() == [2, 1, 0]


def test_a_few_newcomers_among_many_keep_everyone_in_place() -> None:
    table = PerClient(np.zeros(2))
    table.set(np.arange(0, 4000, 2), np.column_stack([np.arange(2000), -np.arange(2000)]))
    table.set(np.array([3999, 1, 7]), np.array([[1, 1], [2, 2], [3, 3]]))
    assert table.ids.tolist() == sorted([*range(0, 4000, 2), 1, 7, 3999])
    assert table.get(np.array([0, 1, 2, 7, 8, 3998, 3999])).tolist() == [
        [0, 0], [2, 2], [1, -1], [3, 3], [4, -4], [1999, -1999], [1, 1],
    ]  # fmt: skip
