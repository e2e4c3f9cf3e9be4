"""Many clients: within a second where they are allowed, refused by name where they are not."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from callup.core.clients import Clients
from callup.core.errors import InputError
from callup.core.randomness import stream
from callup.core.types import Round
from callup.core.verify import ask
from callup.testing.checks.base import SMALL, selector_checks
from callup.testing.driver import Driver, Make, blaming, drivers
from callup.testing.federation import Federation
from callup.testing.registry import require

_STEPS, _PAIRS, _SECONDS, _TRIES = (1_000, 10_000, 100_000), 1_500, 1.0, 3


@selector_checks.add
def chooses_among_many_within_a_second(make: Make) -> None:
    """10 of min(100,000, max_clients) clients: `select` and `update` each take at most a second of processor time.

    A tenth and a hundredth of them come first, so that a method of quadratic cost is found out in seconds.
    """
    for small in drivers(make, SMALL):
        limit = _limit(small)
        for n in sorted({min(limit, step) for step in _STEPS}):
            driver = small.twin(make, world=Federation.of(n, classes=10), k=10).start()
            _in_time(f"select among {n:,} clients", partial(driver.select, 1))
            feedback = driver.feedback(1, driver.select(1))
            _in_time(f"update after 10 of {n:,} clients", partial(driver.update, feedback))


@selector_checks.add
def refuses_more_clients_than_its_limit(make: Make) -> None:
    """A method with a `max_clients` is refused above it, in a sentence that names the method."""
    with blaming("it cannot be made"):
        selector = make()
    limit = selector.max_clients
    if limit is None:
        return
    require(limit >= 1, f"max_clients must be at least 1, got {limit}")
    clients = Clients(np.arange(limit + 1))
    try:
        ask(selector, Round(1, clients.ids, clients, stream(0, "select", 1)), 1)
    except InputError as error:
        require(selector.card.name in str(error), f"the refusal does not name {selector.card.name}: {error}")
    else:
        raise AssertionError(f"takes {limit + 1} clients although its limit is {limit}")


def _limit(driver: Driver) -> int:
    pairs = any(a.signal.shape == "pairs" for a in driver.asks)  # n² numbers: 80 GB for 100,000 clients
    return min(driver.selector.max_clients or _STEPS[-1], _PAIRS if pairs else _STEPS[-1])


def _in_time(what: str, work: Callable[[], object]) -> None:
    """The best of three tries counts: a busy machine slows one, a slow method all."""
    best = np.inf
    for _ in range(_TRIES):
        before = time.process_time()
        work()
        best = min(best, time.process_time() - before)
        if best <= _SECONDS:
            return
    raise AssertionError(f"{what} took {best:.1f} s of processor time, allowed is {_SECONDS:g} s")
