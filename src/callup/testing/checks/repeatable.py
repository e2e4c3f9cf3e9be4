"""The same seed gives the same cohort, whatever else happens around it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from callup.testing.checks.base import ROUNDS, SMALL, SPARSE, most_online, most_reply, selector_checks
from callup.testing.compare import cohorts, differing
from callup.testing.driver import Make, drivers
from callup.testing.registry import require


@selector_checks.add
def repeats_with_the_same_seed(make: Make) -> None:
    """Two selectors with the same settings, seed and replies name the same clients in the same order."""
    for driver in drivers(make, SMALL, online=most_online, replies=most_reply):
        once = cohorts(driver.start().play(ROUNDS))
        again = cohorts(driver.twin(make).start().play(ROUNDS))
        require(once == again, f"the same seed gave {_first_difference(once, again)}")


@selector_checks.add
def ignores_the_order_of_rows(make: Make) -> None:
    """Rows of the table, the list of available clients and the replies may come in any order."""
    for world in (SMALL, SPARSE):
        for driver in drivers(make, world, online=most_online, replies=most_reply):
            sorted_rows = cohorts(driver.start().play(ROUNDS))
            other = cohorts(driver.twin(make, shuffled=True).start().play(ROUNDS))
            require(
                sorted_rows == other,
                f"another order of clients or replies gave {_first_difference(sorted_rows, other)}",
            )


@selector_checks.add
def leaves_global_randomness_alone(make: Make) -> None:
    """Neither draws from the generators of numpy and the standard library nor listens to their seeds."""
    seen = []
    with _global_randomness_restored():
        for seed in (1, 2):
            random.seed(seed)
            np.random.seed(seed)  # noqa: NPY002
            before = _global_state()
            seen.append([cohorts(driver.start().play(ROUNDS)) for driver in drivers(make, SMALL, replies=most_reply)])
            changed = differing(before, _global_state())
            require(not changed, f"draws from the global generator of {' and '.join(changed)}")
    require(seen[0] == seen[1], "the cohort depends on the seed of a global generator")


@selector_checks.add
def shares_nothing_between_instances(make: Make) -> None:
    """What one selector learns, another of the same class does not know."""
    for driver in drivers(make, SMALL):
        alone = cohorts(driver.start().play(ROUNDS))
        patient, busy = driver.twin(make).start(), driver.twin(make, seed=1).start()
        before = patient.selector.state()
        busy.play(range(1, 4))
        changed = differing(before, patient.selector.state())
        require(not changed, f"one selector's rounds changed another's state: {', '.join(changed)}")
        require(cohorts(patient.play(ROUNDS)) == alone, "one selector's rounds changed another's choices")


@selector_checks.add
def selects_the_same_when_asked_twice(make: Make) -> None:
    """Asking again with the same stream gives the same selection, with the same weights, scores and notes."""
    for driver in drivers(make, SMALL, replies=most_reply):
        driver.start()
        for index in ROUNDS:
            once, again = driver.select(index), driver.select(index)
            changed = differing(vars(once), vars(again))
            require(not changed, f"asked twice in round {index}, select gave other {', '.join(changed)}")
            driver.update(driver.feedback(index, again))


@selector_checks.add
def breaks_ties_at_random(make: Make) -> None:
    """Where clients are equal the seed decides, not the order of ids: seeds do not all give the same cohort."""
    for driver in drivers(make, SMALL.like("ties")):
        if driver.selector.card.takes_everyone:
            continue
        # 4 of 20 drawn at random agree twelve times with probability 4845**-11.
        seen = {tuple(driver.twin(make, seed=seed).start().select(1).ids.tolist()) for seed in range(12)}
        require(len(seen) > 1, f"names clients {min(seen)} under every seed although all clients are equal")


def _first_difference(a: list[list[int]], b: list[list[int]]) -> str:
    index = next((i for i, (x, y) in enumerate(zip(a, b, strict=True)) if x != y), 0)
    return f"{a[index]} and {b[index]} in round {index + 1}"


def _global_state() -> dict[str, object]:
    return {"numpy": np.random.get_state(legacy=False), "the standard library": random.getstate()}  # noqa: NPY002


@contextmanager
def _global_randomness_restored() -> Iterator[None]:
    numpy_state, python_state = np.random.get_state(), random.getstate()  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(numpy_state)  # noqa: NPY002
        random.setstate(python_state)
