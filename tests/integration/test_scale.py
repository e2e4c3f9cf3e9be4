"""A million clients, and many rounds: selection stays within its time and memory does not grow.

`make bench-select` measures every selector and 10,000 rounds, and runs the tests here that hold a stopwatch; the others
are short versions that run with every test.
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from callup.core.catalogue import DEFAULT, SELECTORS
from callup.core.per_client import PerClient
from callup.core.randomness import stream
from callup.testing import Driver, Federation, drivers

MILLION = 1_000_000
SELECT, UPDATE = 1.0, 0.01  # seconds of processor time


def driver(spec: str, n: int, k: int = 100) -> Driver:
    """The first way of supplying what the selector needs, started."""
    return next(drivers(lambda: SELECTORS.make(spec), Federation.of(n, classes=10), k=k)).start()


def least_seconds(work: Callable[[], Any], tries: int = 3) -> float:
    """Of several tries: a busy machine slows one, a slow method all."""
    taken = []
    for _ in range(tries):
        before = time.process_time()
        work()
        taken.append(time.process_time() - before)
    return min(taken)


@pytest.mark.timed
@pytest.mark.parametrize("spec", ["random", "fedacs:redraw=single", "fed-cbs:pool", "oort", DEFAULT])
def test_a_million_clients(spec: str) -> None:
    """100 of a million: select within a second, update from 100 replies within ten milliseconds."""
    one = driver(spec, MILLION)
    one.play([1, 2])
    assert least_seconds(partial(one.select, 3)) <= SELECT
    feedback = [one.feedback(index, one.select(index)) for index in (3, 4, 5)]
    assert least_seconds(lambda: one.update(feedback.pop())) <= UPDATE


@pytest.mark.timed
@pytest.mark.parametrize(("k", "seconds"), [(10, 0.5), (100, 4.0)])
def test_fed_cbs_over_everybody(k: int, seconds: float) -> None:
    """Exact, a tenth of a million clients; its cost grows as N, so it has a tenth of the time."""
    one = driver("fed-cbs", MILLION // 10, k)
    one.play([1, 2])
    assert least_seconds(partial(one.select, 3)) <= seconds / 10


@pytest.mark.timed
@pytest.mark.parametrize("known", [0.01, 0.5, 0.99])
def test_state_of_a_million_clients_takes_in_a_round_quickly(known: float) -> None:
    """However many are known already, 100 clients, most of them new, are written within half an update's time."""
    rng = stream(0, "known")
    table = PerClient()
    table.set(np.sort(rng.choice(MILLION, int(known * MILLION), replace=False)), 1.0)
    rounds = [rng.choice(MILLION, 100, replace=False) for _ in range(5)]
    assert least_seconds(lambda: table.add(rounds.pop(), 1.0), tries=5) <= UPDATE / 2


@pytest.mark.parametrize(
    ("spec", "n", "k"), [("random", 500, 100), ("fedacs:redraw=single", 500, 100), (DEFAULT, 50, 10)]
)
def test_memory_does_not_grow_with_rounds(spec: str, n: int, k: int) -> None:
    """160 rounds of a fifth of the clients: over the last 100 of them less than 1 MB per 1,000 rounds is kept.

    By then everybody has been called, so what is learned of clients no longer takes new room. Seeded.
    """
    one = driver(spec, n, k)
    for index in range(1, 61):
        one.play([index])
    tracemalloc.start()
    try:
        one.play([61])
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for index in range(62, 162):
            one.play([index])
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 0.1 * 2**20
