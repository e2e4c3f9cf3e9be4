"""Mean QCID of partitions and availabilities together, against the tables of Fed-CBS; no training is needed.

Every mean is compared within its own sampling error: wrong less than once in 1,000 seeds for each row.
"""

import numpy as np
import pytest

from callup.analytics.qcid import expected_qcid_single_class, qcid_each
from callup.core import draws
from callup.core.clients import Clients
from callup.core.randomness import stream
from callup.partition.scheme import PARTITIONS
from callup.simulation.availability import AVAILABILITIES

CIFAR = np.repeat(np.arange(10), 5000)


def federation(spec, seed):
    shards = PARTITIONS.make(spec).split(CIFAR, 10, stream(seed, "partition"))
    return Clients(shards.ids, label_counts=shards.label_counts(CIFAR, 10))


def rounds(clients, availability, seed, count):
    """QCID (x 1e-2) of all available clients and of ten of them at random, for each round."""
    law, table, rng = AVAILABILITIES.make(availability), clients.all("label_counts"), stream(seed, "rounds")
    online, chosen = np.zeros((count, 10)), np.zeros((count, 10))
    for t in range(count):
        ids = law.available(clients, t + 1, rng)
        online[t] = table[ids].sum(axis=0)
        chosen[t] = table[draws.uniform(ids, 10, rng)].sum(axis=0)
    return 100 * qcid_each(online), 100 * qcid_each(chosen)


@pytest.mark.parametrize(
    ("alpha", "all_available", "random_ten"),
    [
        # Table 1: mean and standard deviation.
        (0.1, (1.01, 0.01), (8.20, 0.21)),
        (0.2, (0.93, 0.03), (7.54, 0.27)),
        (0.5, (0.72, 0.03), (5.87, 0.24)),
    ],
)
def test_table_1_balanced_dirichlet(alpha, all_available, random_ten):
    spec = f"dirichlet-balanced:alpha={alpha}"
    means = np.array([[part.mean() for part in rounds(federation(spec, s), "uniform", s, 50)] for s in range(50)])
    for row, (published, spread) in zip(means.T, (all_available, random_ten), strict=True):
        # The published spread, and three standard errors of our own mean. Equal sizes without the balance constraint
        # would give 1.36/1.25/1.00 in the first column, alpha by component 4.5/3.1/1.6 in the second.
        error = row.std(ddof=1) / np.sqrt(len(row))
        assert abs(row.mean() - published) < spread + 3 * error
        assert 3 * error < 0.05 * published


@pytest.mark.parametrize(
    ("partition", "all_available", "random_ten"),
    [
        ("case1:ratio=5", 6.12, 12.35),
        ("case1:as_published", 2.85, 9.33),
        ("case1:ratio=3", 4.22, 10.59),
    ],
)
def test_table_3_case_1(partition, all_available, random_ten):
    online, chosen = rounds(federation(partition, 0), "uniform:count=36", 1, 2000)
    for row, published in ((online, all_available), (chosen, random_ten)):
        # Four standard errors (wrong once in 16,000 seeds) and the rounding of the printed value.
        assert abs(row.mean() - published) < 4 * row.std() / np.sqrt(len(row)) + 0.005


@pytest.mark.parametrize(("ratio", "all_available", "random_ten"), [(3, 2.50, 9.92), (5, 4.44, 11.69)])
def test_table_3_case_2(ratio, all_available, random_ten):
    online, chosen = rounds(federation("case2", 0), f"per-class:ratio={ratio}", 2, 2000)
    # "the QCID value is fixed": 9 and 3, or 10 and 2, clients of each class in every round.
    np.testing.assert_allclose(online, all_available, atol=0.005)
    assert online.std() < 1e-12
    assert abs(chosen.mean() - random_ten) < 4 * chosen.std() / np.sqrt(len(chosen)) + 0.005


def test_case_1_rows_are_those_of_the_closed_form():
    for holders, n, expected in (([18] * 5 + [6] * 5, 36, 4.22), ([18] * 5 + [6] * 5, 10, 10.59)):
        assert round(100 * expected_qcid_single_class(np.array(holders), n), 2) == expected


@pytest.mark.parametrize("alpha", [0.1, 0.5])
def test_table_4_independent_dirichlet(alpha):
    """Fashion-MNIST's rows fit independent draws of equal size: m clients have (1 - 1/B)/(1 + alpha)/m on average."""
    published = {0.1: ((1.40, 0.11), (8.20, 0.19)), 0.5: ((0.94, 0.07), (5.93, 0.26))}[alpha]
    spec = f"dirichlet:clients=200,alpha={alpha},samples=300,reuse=true"
    means = np.array([[part.mean() for part in rounds(federation(spec, s), "uniform", s, 30)] for s in range(40)])
    for row, m, (value, spread) in zip(means.T, (60, 10), published, strict=True):
        error = row.std(ddof=1) / np.sqrt(len(row))
        assert abs(row.mean() - 90 / (1 + alpha) / m) < 4 * error + 0.01
        assert abs(row.mean() - value) < spread + 3 * error
