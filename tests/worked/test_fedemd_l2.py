"""FedEMD on inner products: three clients by hand, and the same choices from counts and from inner products."""

import math

import numpy as np
import pytest

from callup import Clients, Feedback, Plan, Round, selector, stream
from callup.analytics.emd import distances
from callup.analytics.gram_distances import l2_to_pool, products_of
from callup.core.errors import UsageError


def started(clients, beta):
    made = selector(f"fedemd-l2:beta={beta}")
    made.start(clients, Plan(k=1), stream(0, "start"))
    return made


def at(index, clients, available=None):
    return Round(index, clients.ids if available is None else available, clients, stream(0, "r", index))


def test_three_clients_by_hand():
    # Clients (4,0), (0,4), (2,2); together (6,6). Shares (1,0), (0,1), (1/2,1/2): sqrt(1/2), sqrt(1/2), 0 from theirs.
    table = np.array([[4, 0], [0, 4], [2, 2]])
    half, e = math.sqrt(0.5), math.exp
    for clients in (
        Clients([10, 20, 30], label_counts=table),
        Clients([10, 20, 30], label_gram=table @ table.T, num_examples=[4, 4, 4]),
    ):
        method = started(clients, 0.1)
        first = np.array([e(half), e(half), 1])
        np.testing.assert_allclose(method.probabilities(at(1, clients)), first / first.sum(), rtol=1e-9)
        # Client 10 is seen: shares (1,0), from which they are 0, sqrt(2), sqrt(1/2) away. Round 2: minus 2 * 0.1 of it.
        method.update(Feedback(1, np.array([10]), {}, clients))
        second = np.array([e(half), e(half - 0.2 * math.sqrt(2)), e(-0.2 * half)])
        np.testing.assert_allclose(method.probabilities(at(2, clients)), second / second.sum(), rtol=1e-9)
        # 20 does not reply and counts all the same: (4,4) seen, distances sqrt(1/2), sqrt(1/2), 0.
        method.update(Feedback(2, np.empty(0, np.int64), {}, clients, failed={20: "no reply"}))
        third = np.array([e(half - 0.3 * half), e(half - 0.3 * half), 1])
        np.testing.assert_allclose(method.probabilities(at(3, clients)), third / third.sum(), rtol=1e-9)


def test_the_identity_against_plain_vectors():
    rng = stream(1, "l2")
    counts = rng.integers(0, 50, (30, 6))
    sizes, weights = counts.sum(axis=1), rng.integers(0, 4, 30)
    pool = weights @ counts
    wanted = np.linalg.norm(counts / sizes[:, None] - pool / pool.sum(), axis=1)
    for clients in (
        Clients(range(30), label_counts=counts),
        Clients(range(30), label_gram=counts @ counts.T, num_examples=sizes),
    ):
        found = l2_to_pool(*products_of(clients), clients.all("num_examples"), weights.astype(float))
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


def test_the_same_clients_from_counts_and_from_inner_products():
    counts = stream(2, "counts").integers(0, 90, (40, 5))
    counts[7] = 0  # holds nothing
    tables = [
        Clients(range(40), label_counts=counts),
        Clients(range(40), label_gram=counts @ counts.T, num_examples=counts.sum(axis=1)),
    ]
    methods = [started(clients, 0.05) for clients in tables]
    for index in range(1, 21):
        picks = []
        for method, clients in zip(methods, tables, strict=True):
            chosen = method.select(at(index, clients), 4).ids
            method.update(Feedback(index, chosen, {}, clients))
            picks.append(chosen.tolist())
        assert picks[0] == picks[1] and 7 not in picks[0]


def test_who_holds_nothing_comes_last():
    clients = Clients([1, 2], label_counts=[[0, 0], [3, 1]])
    assert started(clients, 0.0).select(at(1, clients), 2).ids.tolist() == [2, 1]


def ranks(values):
    return np.argsort(np.argsort(values))


@pytest.mark.parametrize("seed", range(3))
def test_it_orders_clients_much_as_fedemd_does(seed):
    # Dirichlet of total concentration 0.1 over 10 classes; Spearman's rank correlation with the TV distance.
    rng = stream(seed, "mixes")
    counts = np.stack([rng.multinomial(300, rng.dirichlet(np.full(10, 0.05))) for _ in range(200)])
    clients = Clients(range(200), label_counts=counts)
    far = l2_to_pool(*products_of(clients), clients.all("num_examples"), np.ones(200))
    assert np.corrcoef(ranks(far), ranks(distances(counts.sum(axis=0), counts)))[0, 1] > 0.85


def test_bad_beta():
    with pytest.raises(UsageError, match="fedemd-l2: beta must not be negative"):
        selector("fedemd-l2:beta=-1")
