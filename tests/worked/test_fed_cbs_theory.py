"""Fed-CBS's law, exactly: Figure 3, Theorem 3.3 where it holds and where it does not, and the pool of candidates."""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest

from callup import Clients, Plan, Round, selector, stream
from callup.analytics.balance import claimed_law, drawn_law, greedy, mean_qcid
from callup.core.errors import UsageError

# Four clients of 30 images, six classes.
FIGURE_3 = np.array([[5, 5, 5, 5, 5, 5], [6, 6, 6, 6, 6, 0], [0, 0, 0, 10, 10, 10], [10, 10, 10, 0, 0, 0]])
# QCID of each set of three, by hand: 90 images, so (count - 15)^2 / 8100 summed over classes.
BY_HAND = {(0, 1, 2): Fraction(120, 8100), (0, 1, 3): Fraction(240, 8100), (0, 2, 3): Fraction(0)}
BY_HAND[1, 2, 3] = Fraction(30, 8100)


def plain_qcid(counts, group):
    pooled = [sum(int(counts[row][b]) for row in group) for b in range(len(counts[0]))]
    return float(sum((Fraction(x, sum(pooled)) - Fraction(1, len(pooled))) ** 2 for x in pooled))


def random_federation(seed, n=7, classes=4):
    rng = stream(seed, "federation")
    return (
        rng.integers(0, 30, (n, classes)) * rng.integers(0, 2, (n, classes))
        + np.eye(classes, dtype=int)[np.arange(n) % classes]
    )


def test_figure_3():
    for group, imbalance in BY_HAND.items():
        assert plain_qcid(FIGURE_3, group) == pytest.approx(float(imbalance))
    assert greedy(FIGURE_3, 3) == [0, 1, 2]
    # m=1: C1 is balanced and certain but for 4e-19. m=2: weights 120^2 (C2), 24^2 (C3, C4): 25/27, 1/27, 1/27.
    # m=3: after C2, C3 to C4 as 2^3 to 1; after C3 or C4 the other one leaves nothing to wish for.
    law = drawn_law(FIGURE_3, 3)
    expected = {(0, 1, 2): 25 / 27 * 8 / 9, (0, 1, 3): 25 / 27 / 9, (0, 2, 3): 2 / 27, (1, 2, 3): 0}
    assert {tuple(sorted(group)): chance for group, chance in law.items()} == pytest.approx(expected, abs=1e-15)
    # Sharper exponents come to greedy's set, not to the best one.
    assert drawn_law(FIGURE_3, 3, scale=3.5)[frozenset({0, 1, 2})] == pytest.approx(1, abs=1e-3)
    assert drawn_law(FIGURE_3, 3, scale=30)[frozenset({0, 1, 2})] == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("scale", [1.0, 3.5])
@pytest.mark.parametrize("seed", range(3))
def test_the_law_is_the_sum_over_every_order_of_drawing(seed, scale):
    counts = random_federation(seed, n=5)
    expected = Counter()
    for order in permutations(range(5), 3):
        chance = 1.0
        for m in range(1, 4):
            weight = {
                c: plain_qcid(counts, [*order[: m - 1], c]) ** (-scale * m) for c in range(5) if c not in order[: m - 1]
            }
            chance *= weight[order[m - 1]] / sum(weight.values())
        expected[frozenset(order)] += chance
    assert drawn_law(counts, 3, scale) == pytest.approx(dict(expected))
    assert sum(expected.values()) == pytest.approx(1)


@pytest.mark.parametrize("seed", range(6))
def test_theorem_3_3_holds_for_the_law_it_is_proved_of(seed):
    counts = random_federation(seed)
    imbalance = [plain_qcid(counts, group) for group in combinations(range(7), 3)]
    means = []
    for beta in (0.0, 0.3, 1.0, 2.0, 4.0, 8.0):
        # E = sum x^(1-beta) / sum x^-beta, as in the proof; beta=0 is the plain mean of random selection.
        plain = sum(x * x**-beta for x in imbalance) / sum(x**-beta for x in imbalance)
        means.append(mean_qcid(counts, claimed_law(counts, 3, beta)))
        assert means[-1] == pytest.approx(plain, rel=1e-9)
    assert (np.diff(means) < 0).all()


def test_theorem_3_3_does_not_hold_for_the_draws_in_figure_3():
    # Random: (120 + 240 + 0 + 30) / 4 / 8100. Fed-CBS finds the best set in 2 of 27 cohorts only and else ends with
    # one of the two worst.
    at_random = Fraction(120 + 240 + 30, 4 * 8100)
    drawn = Fraction(25, 27) * (Fraction(8, 9) * BY_HAND[0, 1, 2] + Fraction(1, 9) * BY_HAND[0, 1, 3])
    assert drawn > at_random
    assert mean_qcid(FIGURE_3, claimed_law(FIGURE_3, 3, 0)) == pytest.approx(float(at_random))
    assert mean_qcid(FIGURE_3, drawn_law(FIGURE_3, 3)) == pytest.approx(float(drawn))
    assert (round(float(at_random), 4), round(float(drawn), 4)) == (0.012, 0.0152)


@pytest.mark.parametrize("seed", range(6))
def test_the_draws_do_reduce_imbalance_in_ordinary_federations(seed):
    counts = random_federation(seed, n=9, classes=5)
    at_random = mean_qcid(counts, claimed_law(counts, 4, 0))
    assert mean_qcid(counts, drawn_law(counts, 4, scale=1)) < 0.7 * at_random
    # In the limit of a weak exponent the draws are random selection.
    assert mean_qcid(counts, drawn_law(counts, 4, scale=0)) == pytest.approx(at_random)


def started(spec, clients):
    made = selector(spec)
    made.start(clients, Plan(k=3), stream(0, "start"))
    return made


def check_law(spec, counts, k, law, n=2000):
    """Chi-square of the selector's cohorts against a law; cohorts expected less than five times count as one."""
    clients = Clients(np.arange(len(counts)), label_counts=counts)
    made, now = started(spec, clients), Round(1, clients.ids, clients, stream(0, "law"))
    seen = Counter(frozenset(made.select(now, k).ids.tolist()) for _ in range(n))
    cells = [(seen[group], n * chance) for group, chance in law.items() if n * chance >= 5]
    rest = (n - sum(got for got, _ in cells), n - sum(want for _, want in cells))
    if rest[1] >= 5:
        cells.append(rest)
    else:
        assert rest[0] <= 30  # of at most 5 expected: once in 1e13
    chi2, freedom = sum((got - want) ** 2 / want for got, want in cells), len(cells) - 1
    # Wilson and Hilferty: 4.75 standard deviations of the cube root, once in 1e6.
    limit = freedom * (1 - 2 / (9 * freedom) + 4.75 * math.sqrt(2 / (9 * freedom))) ** 3
    assert chi2 < limit


@pytest.mark.parametrize("spec", ["fed-cbs", "fed-cbs:scale=0.5,offset=0.2"])
def test_the_selector_draws_by_the_law(spec):
    counts = random_federation(3, n=6)
    law = drawn_law(counts, 3) if spec == "fed-cbs" else drawn_law(counts, 3, 0.5, 0.2)
    check_law(spec, counts, 3, law)


def test_a_pool_draws_uniformly_and_then_by_the_law():
    # Three candidates of four, each three equally likely, and two of them by Fed-CBS.
    law = Counter()
    for pool in combinations(range(4), 3):
        for group, chance in drawn_law(FIGURE_3[list(pool)], 2).items():
            law[frozenset(pool[row] for row in group)] += chance / 4
    check_law("fed-cbs:candidates=3", FIGURE_3, 2, law)
    # Were everyone looked at, C1 would be in every cohort; here it is left out of a quarter of the pools.
    assert sum(chance for group, chance in law.items() if 0 not in group) == pytest.approx(1 / 4)


def test_a_pool_that_holds_everyone_changes_nothing():
    counts = random_federation(0, n=30)
    clients = Clients(np.arange(30), label_counts=counts)
    now = [Round(4, clients.ids, clients, stream(9, "r")) for _ in range(3)]
    plain, pool, equal = (
        started(spec, clients).select(at, 8)
        for spec, at in zip(("fed-cbs", "fed-cbs:pool", "fed-cbs:candidates=30"), now, strict=True)
    )
    assert plain.ids.tolist() == pool.ids.tolist() == equal.ids.tolist()
    assert plain.notes | {"candidates": 30} == pool.notes == equal.notes


def test_a_pool_is_never_smaller_than_the_cohort():
    counts = random_federation(1, n=30)
    clients = Clients(np.arange(30), label_counts=counts)
    cohort = started("fed-cbs:candidates=2", clients).select(Round(1, clients.ids, clients, stream(0, "r")), 6)
    assert len(cohort.ids) == cohort.notes["candidates"] == 6


def test_a_pool_from_inner_products_picks_the_same():
    counts = random_federation(2, n=30)
    plain = Clients(np.arange(30), label_counts=counts)
    private = Clients(np.arange(30), label_gram=counts @ counts.T, num_examples=counts.sum(axis=1))
    one, two = started("fed-cbs:candidates=12", plain), selector("fed-cbs:candidates=12")
    two.start(private, Plan(k=3, classes=4), stream(0, "start"))
    for index in range(1, 6):
        a = one.select(Round(index, plain.ids, plain, stream(1, "r", index)), 5)
        b = two.select(Round(index, private.ids, private, stream(1, "r", index)), 5)
        assert a.ids.tolist() == b.ids.tolist()


def test_a_pool_of_a_thousand_is_almost_as_balanced_as_all():
    # 20,000 clients of mostly one class: the best of a thousand leave hardly more imbalance than the best of all.
    rng = stream(0, "many")
    counts = rng.integers(0, 3, (20_000, 10)) + 40 * np.eye(10, dtype=int)[rng.integers(0, 10, 20_000)]
    clients = Clients(np.arange(20_000), label_counts=counts)
    at = [Round(1, clients.ids, clients, stream(run, "r")) for run in range(5)]
    everyone = np.mean([started("fed-cbs:sharp", clients).select(now, 10).notes["qcid"] for now in at])
    pool = np.mean([started("fed-cbs:sharp,pool", clients).select(now, 10).notes["qcid"] for now in at])
    at_random = np.mean([plain_qcid(counts, stream(run, "c").choice(20_000, 10, replace=False)) for run in range(20)])
    assert everyone < 0.01 * at_random
    assert pool < 0.01 * at_random


def test_an_empty_pool_is_refused():
    with pytest.raises(UsageError, match="fed-cbs: candidates must be a whole number of at least 1, got 0"):
        selector("fed-cbs:candidates=0")
