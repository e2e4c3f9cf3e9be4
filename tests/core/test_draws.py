"""Orders and draws against enumeration and plain sorting."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from callup.core import draws
from callup.core.errors import ContractError
from callup.core.randomness import client_uniforms, stream


def chi_square_limit(df: int, z: float = 4.75) -> float:
    """Wilson and Hilferty's quantile; z = 4.75 leaves one false alarm in a million, one-sided."""
    return df * (1 - 2 / (9 * df) + z * math.sqrt(2 / (9 * df))) ** 3


def check_law(seen: Counter[tuple[int, ...]], law: dict[tuple[int, ...], float]) -> None:
    """The counts agree with the law, outcome by outcome; one false alarm in a million."""
    total = seen.total()
    assert seen.keys() <= law.keys()
    statistic = sum((seen[outcome] - total * p) ** 2 / (total * p) for outcome, p in law.items())
    assert statistic < chi_square_limit(len(law) - 1)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_weighted_draws_follow_the_sequential_law(k: int) -> None:
    """p(i, j, ...) = w_i/W * w_j/(W - w_i) * ..., enumerated over all orders of four clients."""
    ids, weights = np.array([3, 7, 20, 10**12]), {3: 1.0, 7: 2.0, 20: 3.0, 10**12: 6.0}
    law = {}
    for order in itertools.permutations(ids.tolist(), k):
        left, p = sum(weights.values()), 1.0
        for i in order:
            p *= weights[i] / left
            left -= weights[i]
        law[order] = p
    assert math.isclose(sum(law.values()), 1)
    logs = np.log(list(weights.values()))
    seen = Counter(tuple(draws.weighted(ids, logs, k, stream(k, "law", t)).tolist()) for t in range(6000))
    check_law(seen, law)


def test_weights_of_zero_come_last_and_in_random_order() -> None:
    ids = np.array([0, 1, 2, 3, 4])
    with np.errstate(divide="ignore"):
        logs = np.log([0.0, 1.0, 0.0, 1.0, 0.0])
    seen = Counter(tuple(draws.weighted(ids, logs, 4, stream(1, t)).tolist()) for t in range(4000))
    law = {
        (*first, *rest): 1 / 12
        for first in itertools.permutations((1, 3))
        for rest in itertools.permutations((0, 2, 4), 2)
    }
    check_law(seen, law)


def test_only_the_ratio_of_weights_matters() -> None:
    ids = np.arange(50)
    logs = np.linspace(-3, 3, 50)
    for shift in (-700.0, 1e4):
        for t in range(20):
            a, b = (draws.weighted(ids, logs + s, 10, stream(2, t)) for s in (0.0, shift))
            assert set(a.tolist()) == set(b.tolist())


def test_uniform_draws_are_uniform_over_ordered_sets() -> None:
    ids = np.array([2, 5, 9, 11])
    seen = Counter(tuple(draws.uniform(ids, 2, stream(5, t)).tolist()) for t in range(5000))
    check_law(seen, dict.fromkeys(itertools.permutations(ids.tolist(), 2), 1 / 12))


def test_top_breaks_ties_uniformly() -> None:
    """One client leads; two of four equals follow in any order."""
    ids, scores = np.array([1, 4, 6, 8, 9]), np.array([2.0, 2.0, 5.0, 2.0, 2.0])
    seen = Counter(tuple(draws.top(ids, scores, 3, stream(6, t)).tolist()) for t in range(5000))
    check_law(seen, {(6, *rest): 1 / 12 for rest in itertools.permutations((1, 4, 8, 9), 2)})


@pytest.mark.parametrize("k", [0, 1, 3, 9, 10, 11, 39, 40, 45])
@pytest.mark.parametrize("levels", [1, 3, 1000])
def test_top_is_a_plain_sort(k: int, levels: int) -> None:
    """Both ways of finding the k best, with few and with many ties, against Python's own sort."""
    ids = np.sort(stream(7, "ids").choice(10**6, 40, replace=False))
    scores = stream(7, "scores", levels).integers(levels, size=40).astype(float)
    tie = client_uniforms(stream(7, "top"), ids)
    rows = sorted(range(40), key=lambda row: (-scores[row], tie[row]))[:k]
    assert draws.top(ids, scores, k, stream(7, "top")).tolist() == ids[rows].tolist()


def test_infinite_scores_have_their_place() -> None:
    ids = np.arange(6)
    scores = np.array([0.0, -np.inf, 3.0, np.inf, -np.inf, 1.0])
    assert draws.top(ids, scores, 4, stream(0)).tolist() == [3, 2, 5, 0]
    assert set(draws.top(ids, scores, 6, stream(0)).tolist()[4:]) == {1, 4}


@pytest.mark.parametrize("k", [2, 30])
def test_a_score_that_is_not_a_number_is_refused(k: int) -> None:
    scores = np.arange(40.0)
    scores[13] = np.nan
    with pytest.raises(ContractError, match="score of client 113 is not a number"):
        draws.top(100 + np.arange(40), scores, k, stream(0))


def test_a_draw_does_not_change_when_an_unchosen_client_leaves() -> None:
    ids = np.arange(30)
    chosen = draws.uniform(ids, 5, stream(8))
    for leaver in np.setdiff1d(ids, chosen):
        assert draws.uniform(ids[ids != leaver], 5, stream(8)).tolist() == chosen.tolist()


def test_draws_are_frozen() -> None:
    """A change here changes every published run: it needs a line in the changelog."""
    ids = np.arange(20)
    assert draws.uniform(ids, 5, stream(3, "d")).tolist() == [0, 11, 17, 3, 18]
    assert draws.weighted(ids, np.log1p(ids.astype(float)), 5, stream(3, "d")).tolist() == [11, 17, 18, 14, 12]
    assert draws.top(ids, ids % 3 * 1.0, 5, stream(3, "d")).tolist() == [8, 5, 2, 14, 17]


def test_quantised_keeps_36_bits() -> None:
    values = stream(1, "q").normal(size=2000) * 10.0 ** stream(1, "e").integers(-30, 30, 2000)
    rounded = draws.quantised(values)
    assert (np.abs(rounded - values) <= np.abs(values) * 2.0**-36).all()
    assert np.array_equal(draws.quantised(rounded), rounded)
    order = np.argsort(values)
    assert (np.diff(rounded[order]) >= 0).all()


def test_quantised_forgets_the_last_bits() -> None:
    assert draws.quantised(np.array([0.1 + 0.2])) == draws.quantised(np.array([0.3]))
    assert draws.quantised(np.array([1.0])) == draws.quantised(np.array([1 + 2.0**-38]))
    assert draws.quantised(np.array([1.0])) != draws.quantised(np.array([1 + 2.0**-34]))


def test_quantised_takes_the_ends_of_the_scale() -> None:
    ends = np.array([0.0, -0.0, np.inf, -np.inf, 5e-324, np.finfo(float).max, -np.finfo(float).max])
    assert draws.quantised(ends).tolist() == [0.0, 0.0, np.inf, -np.inf, 5e-324, np.inf, -np.inf]


def test_what_a_draw_takes_from_its_stream_does_not_hang_on_ties() -> None:
    """A single leader needs no number to break a tie, two of them do; the stream goes on alike."""
    ids, left = np.arange(5), []
    for scores in ([1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 2.0, 3.0, 5.0, 5.0]):
        rng = stream(3, "ties")
        assert draws.top(ids, np.array(scores), 1, rng)[0] in (3, 4)
        left.append(rng.integers(2**63))
    assert left[0] == left[1]


def test_many_ids_have_the_numbers_that_few_have() -> None:
    """Hashed in blocks or at once, forwards or backwards."""
    ids = np.arange(-3, 40_000) * 7**9
    many = client_uniforms(stream(5, "blocks"), ids)
    few = np.concatenate([client_uniforms(stream(5, "blocks"), part) for part in np.array_split(ids, 7)])
    np.testing.assert_array_equal(many, few)
