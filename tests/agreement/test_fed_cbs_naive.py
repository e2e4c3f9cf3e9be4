"""Fed-CBS keeps running sums; the version that adds up every pair of the set, in exact fractions, picks the same."""

import math
from fractions import Fraction

import numpy as np
import pytest

from callup import Clients, Feedback, Plan, Round, selector, stream
from callup.core import draws

CLASSES = 5


def naive(counts, times, available, index, k, scale, rng):
    """Section 3.3 as written, O(N M^2): the QCID of each candidate set from all its pairs (Theorem 3.1)."""
    product = {(a, b): sum(x * y for x, y in zip(counts[a], counts[b], strict=True)) for a in counts for b in counts}
    picked = []
    for m in range(1, k + 1):
        left = [c for c in available if c not in picked]
        log_weights = []
        for c in left:
            group = [*picked, c]
            size = sum(sum(counts[n]) for n in group)
            qcid = Fraction(sum(product[a, b] for a in group for b in group), size**2) - Fraction(1, CLASSES)
            weight = -scale * m * math.log(max(float(qcid), 1e-20))
            if m == 1 and index > 1:
                weight = math.log(math.exp(weight) + 10 * math.sqrt(3 * math.log(index) / (2 * times[c])))
            log_weights.append(weight)
        picked.append(int(draws.weighted(np.array(left), np.array(log_weights), 1, rng)[0]))
    return picked


@pytest.mark.parametrize("scale", [1.0, 3.5])
@pytest.mark.parametrize("seed", range(4))
def test_running_sums_pick_what_all_pairs_pick(seed, scale):
    rng = stream(seed, "counts")
    # Few samples, so that many sets are perfectly balanced and the floor decides.
    table = rng.integers(0, 4, (18, CLASSES))
    table[:, seed % CLASSES] += 1
    ids = np.sort(rng.choice(500, 18, replace=False))
    counts = {int(i): row.tolist() for i, row in zip(ids, table, strict=True)}
    clients = Clients(ids, label_counts=table)
    fast, times = selector(f"fed-cbs:scale={scale}"), dict.fromkeys(counts, 1)
    fast.start(clients, Plan(k=7), stream(seed, "start"))
    for index in range(1, 7):
        here = np.sort(stream(seed, "here", index).choice(ids, 14, replace=False))
        cohort = fast.select(Round(index, here, clients, stream(seed, "select", index)), 7).ids.tolist()
        assert cohort == naive(counts, times, here.tolist(), index, 7, scale, stream(seed, "select", index))
        fast.update(Feedback(index, np.array(cohort), {}, clients))
        for client in cohort:
            times[client] += 1


@pytest.mark.parametrize("spec", ["fed-cbs", "fed-cbs:sharp", "fed-cbs:scale=0.01"])
def test_with_many_clients_those_without_the_luck_to_win_are_not_missed(spec):
    """Above 65,536 clients only those are weighed whom luck may carry; here everyone is."""
    rng = stream(7, spec)
    counts = rng.integers(0, 6, (70_000, CLASSES)) + 40 * np.eye(CLASSES, dtype=int)[rng.integers(0, CLASSES, 70_000)]
    counts[rng.random(70_000) < 0.1] = 0
    counts[::20_000] = 8  # perfectly balanced: these need next to no luck
    ids = 2 * np.arange(70_000)
    clients = Clients(ids, label_counts=counts)
    fast, times = selector(spec), np.ones(len(ids))
    fast.start(clients, Plan(k=4), stream(7, "start"))
    for index in (1, 2, 3):
        draw, picked = stream(7, "select", index), []
        for m in range(1, 5):
            with np.errstate(divide="ignore", invalid="ignore"):
                pooled = counts + counts[picked].sum(axis=0)
                shares = pooled / pooled.sum(axis=1, keepdims=True)
                log_weights = -fast.scale * m * np.log(np.maximum(((shares - 1 / CLASSES) ** 2).sum(axis=1), 1e-20))
                bonus = np.log(10 * np.sqrt(3 * math.log(index) / (2 * times)))
                log_weights = np.logaddexp(log_weights, bonus) if m == 1 else log_weights
            log_weights[counts.sum(axis=1) == 0] = log_weights[picked] = -np.inf
            picked.append(int(draws.weighted(ids, log_weights, 1, draw)[0]) // 2)
        cohort = fast.select(Round(index, ids, clients, stream(7, "select", index)), 4).ids
        assert cohort.tolist() == [2 * row for row in picked]
        fast.update(Feedback(index, cohort, {}, clients))
        times[picked] += 1
