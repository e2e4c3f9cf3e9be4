"""Methods whose exact choice looks at everyone for each place: their limit, and the pool of candidates beyond it."""

import numpy as np
import pytest

import callup
from callup.analytics.pool import candidate_pool
from callup.core.errors import InputError, UsageError
from callup.core.verify import check_size

POOLED = ("astraea", "balanced", "fed-cucb")


@pytest.mark.parametrize("name", POOLED)
def test_the_refusal_names_the_variant_that_takes_more(name):
    exact, pooled = callup.selector(name), callup.selector(f"{name}:pool")
    check_size(exact, exact.max_clients)
    with pytest.raises(InputError, match=f"^{name} is made for up to .* clients, .* has .*; use {name}:pool$"):
        check_size(exact, exact.max_clients + 1)
    check_size(pooled, 10**9)


@pytest.mark.parametrize("name", [*POOLED, "fed-cbs"])
def test_no_candidates_is_refused(name):
    with pytest.raises(UsageError, match=f"{name}: candidates"):
        callup.selector(f"{name}:candidates=0")


def test_a_pool_is_a_uniform_part_in_the_order_of_ids():
    ids = np.arange(10, 50)
    times = np.zeros(60)
    for seed in range(500):
        pool = candidate_pool(ids, 8, 3, callup.stream(seed, "pool"))
        assert len(pool) == 8
        assert (np.diff(pool) > 0).all()
        times[pool] += 1
    # Each of 40 is in 100 of 500 pools on average, with deviation 8.9; six of them: false alarm below 1e-7.
    assert (np.abs(times[10:50] - 100) < 54).all()
    assert len(candidate_pool(ids, 8, 30, callup.stream(0, "pool"))) == 30
    assert candidate_pool(ids, None, 3, callup.stream(0, "pool")) is ids
    assert candidate_pool(ids, 40, 3, callup.stream(0, "pool")) is ids


def cohort(spec, counts, k, seed):
    clients = callup.Clients(np.arange(len(counts)), label_counts=counts)
    made = callup.selector(spec)
    made.start(clients, callup.Plan(k), callup.stream(0, "start"))
    return made.select(callup.Round(1, clients.ids, clients, callup.stream(seed, "select")), k)


@pytest.mark.parametrize("name", ["astraea", "balanced"])
def test_a_pool_of_some_balances_nearly_as_well_as_everyone(name):
    # 2,000 clients of one class each, 20 places: among 200 there are about 20 of every class, so perfect balance is
    # within reach of a pool. Its missing a class altogether has a chance of 10 (0.9)^200 = 7e-9 a round.
    counts = 50 * np.eye(10)[np.arange(2000) % 10]
    cohorts = []
    for seed in range(10):
        chosen = cohort(f"{name}:candidates=200", counts, 20, seed)
        assert len(set(chosen.ids.tolist())) == 20
        assert chosen.notes["qcid"] == pytest.approx(0, abs=1e-12)
        cohorts.append(tuple(sorted(chosen.ids.tolist())))
    assert len(set(cohorts)) == 10  # another part of the federation in every round
    # As large as the federation, a pool is everyone.
    assert cohort(f"{name}:candidates=2000", counts, 20, 3).ids.tolist() == cohort(name, counts, 20, 3).ids.tolist()
