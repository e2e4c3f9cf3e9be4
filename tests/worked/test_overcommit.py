"""How many to ask: against the published table, a brute-force sum and the cases one can do in the head."""

from __future__ import annotations

from math import comb

import pytest

from callup.analytics.overcommit import cautious_dropout, smallest_ask
from callup.core.errors import UsageError


def chance_of_enough(n: int, k: int, dropout: float) -> float:
    """P(Binomial(n, 1 - dropout) >= k), term by term."""
    return sum(comb(n, j) * (1 - dropout) ** j * dropout ** (n - j) for j in range(k, n + 1))


# Exact binomial: over-commit needed for 99 % of rounds to reach K.
TABLE = {
    (10, 0.06): 13,
    (10, 0.10): 14,
    (10, 0.20): 18,
    (10, 0.30): 21,
    (10, 0.50): 33,
    (100, 0.06): 113,
    (100, 0.10): 120,
    (100, 0.20): 139,
    (100, 0.30): 162,
    (100, 0.50): 235,
}


@pytest.mark.parametrize(("case", "expected"), TABLE.items())
def test_the_table_of_over_commitment(case: tuple[int, float], expected: int) -> None:
    assert smallest_ask(*case) == expected


@pytest.mark.parametrize(("n", "k", "dropout", "chance"), [(13, 10, 0.3, 0.421), (130, 100, 0.3, 0.049)])
def test_the_brute_force_sum_agrees_with_the_table_of_chances(n: int, k: int, dropout: float, chance: float) -> None:
    assert chance_of_enough(n, k, dropout) == pytest.approx(chance, abs=5e-4)


@pytest.mark.parametrize("k", [1, 2, 7, 40])
@pytest.mark.parametrize("dropout", [0.01, 0.25, 0.6, 0.9])
@pytest.mark.parametrize("confidence", [0.5, 0.99, 0.9999])
def test_it_is_enough_and_one_fewer_is_not(k: int, dropout: float, confidence: float) -> None:
    n = smallest_ask(k, dropout, confidence)
    assert chance_of_enough(n, k, dropout) >= confidence
    assert n == k or chance_of_enough(n - 1, k, dropout) < confidence


def test_one_client_and_a_fair_coin() -> None:
    assert smallest_ask(1, 0.5) == 7  # 1 - 2**-6 = 0.984, 1 - 2**-7 = 0.992


def test_nobody_is_ever_lost() -> None:
    assert smallest_ask(25, 0.0) == 25


def test_a_chance_too_small_for_a_float() -> None:
    # 0.05**1000 underflows; the mean is 20,000 and the deviation about 620, so 99 % lies about 1,440 above the mean.
    assert 21_000 < smallest_ask(1000, 0.95) < 22_000


def test_the_bound_on_drop_out_starts_wide_and_closes_on_what_was_seen() -> None:
    # Beta(3, 7): mean 0.3, deviation sqrt(0.21 / 11) = 0.13817; 0.3 + 1.645 x 0.13817.
    assert cautious_dropout(0, 0) == pytest.approx(0.52729, abs=1e-5)
    # 303 of 1010: mean 0.3, deviation sqrt(0.21 / 1011) = 0.014412.
    assert cautious_dropout(300, 1000) == pytest.approx(0.32371, abs=1e-5)
    assert cautious_dropout(10**6, 10**6) == 0.99  # never 1: there is always a number to ask that could be enough


@pytest.mark.parametrize(
    "call", [lambda: smallest_ask(0, 0.1), lambda: smallest_ask(3, 1.0), lambda: smallest_ask(3, -0.1)]
)
def test_what_cannot_be_is_refused(call) -> None:
    with pytest.raises(UsageError):
        call()


def test_confidence_and_counts_are_checked() -> None:
    with pytest.raises(UsageError, match="confidence"):
        smallest_ask(3, 0.1, 1.0)
    with pytest.raises(UsageError, match="cannot have been lost"):
        cautious_dropout(3, 2)
