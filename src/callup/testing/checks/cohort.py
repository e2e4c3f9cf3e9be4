"""Who is named: the right number of distinct clients that are there."""

from __future__ import annotations

from callup.core.index import Ids
from callup.core.types import Selection
from callup.testing.checks.base import ROUNDS, SMALL, SPARSE, N, in_turn, most_online, selector_checks
from callup.testing.driver import Driver, Make, blaming, drivers, nobody
from callup.testing.registry import require


def _sizes(driver: Driver, k: int) -> None:
    """Plays and asks for k in all: the number itself is checked where every runtime checks it, in `ask`."""
    for selection in driver.start().play(ROUNDS):
        card = driver.selector.card
        require(
            len(selection.ids) >= min(k, len(driver.world.ids)) or selection.weights is not None or card.takes_everyone,
            f"names {len(selection.ids)} clients for {k} and gives no weights: how often each was drawn is lost",
        )


@selector_checks.add
def names_k_distinct_available_clients(make: Make) -> None:
    """k distinct clients; fewer only when drawn with replacement, everyone only when the card says so."""
    for driver in drivers(make, SMALL):
        _sizes(driver, driver.k)


@selector_checks.add
def names_only_those_online(make: Make) -> None:
    """Clients come and go between rounds; those away are never named."""
    for online in (most_online, in_turn):
        for driver in drivers(make, SMALL, online=online):
            driver.start().play(range(1, 11))


@selector_checks.add
def takes_any_k(make: Make) -> None:
    """One client, all of them, and more than there are."""
    for k in (1, N, N + 5):
        for driver in drivers(make, SMALL, k=k):
            _sizes(driver, min(k, N))


@selector_checks.add
def takes_whoever_is_left(make: Make) -> None:
    """One client online, and a federation of one client."""

    def one(index: int, ids: Ids) -> Ids:
        return ids[index : index + 1]

    for driver in drivers(make, SMALL, online=one):
        driver.start().play(ROUNDS)
    for driver in drivers(make, SMALL.with_ids([5])):
        driver.start().play(ROUNDS)


@selector_checks.add
def names_nobody_when_nobody_is_online(make: Make) -> None:
    """An empty round gives an empty selection and is learned from like any other."""
    for driver in drivers(make, SMALL, bare=True):
        driver.start().play(range(1, 3))
        driver.online = nobody
        with blaming("select fails when nobody is online"):
            alone: Selection = driver.selector.select(driver.now(3), driver.k)
        require(len(alone.ids) == 0, f"names client {alone.ids[:1]} when nobody is online")
        driver.update(driver.feedback(3, alone))
        driver.online = most_online
        driver.play(range(4, 6))


@selector_checks.add
def names_more_than_planned_when_asked(make: Make) -> None:
    """With over-commit more than k are asked, the first k replies count, and the others are reported as failed."""

    def first(index: int, ids: Ids) -> Ids:  # noqa: ARG001
        return ids[:4]

    for driver in drivers(make, SMALL, extra=3, replies=first):
        _sizes(driver, driver.k + driver.extra)


@selector_checks.add
def takes_ids_as_names(make: Make) -> None:
    """Ids far apart and far above the number of clients: a position in some list is not a name."""
    edge = SMALL.with_ids([0, 1, 2**31, 2**32 + 1, 2**53 + 1, 2**62, 2**63 - 1])
    for world in (SPARSE, edge):
        for driver in drivers(make, world, online=most_online):
            driver.start().play(ROUNDS)
