"""Replies are lost, rounds come to nothing, clients join and leave: the selector goes on."""

from __future__ import annotations

from callup.core.index import Ids
from callup.testing.checks.base import ROUNDS, SMALL, N, in_turn, most_reply, selector_checks
from callup.testing.driver import Make, drivers, everyone, nobody


@selector_checks.add
def survives_lost_replies(make: Make) -> None:
    """Some of those asked never answer, in the first round too."""

    def one(index: int, ids: Ids) -> Ids:  # noqa: ARG001
        return ids[-1:]

    for replies in (most_reply, one):
        for driver in drivers(make, SMALL, replies=replies):
            driver.start().play(ROUNDS)


@selector_checks.add
def survives_a_round_without_replies(make: Make) -> None:
    """Everyone fails, at first or later; then there are no signals, or signals without entries."""

    def sometimes(index: int, ids: Ids) -> Ids:
        return nobody(index, ids) if index in (1, 2, 5) else everyone(index, ids)

    for bare in (True, False):
        for replies in (sometimes, nobody):
            for driver in drivers(make, SMALL, replies=replies, bare=bare):
                driver.start().play(ROUNDS)


@selector_checks.add
def survives_halves_that_take_turns(make: Make) -> None:
    """Half of the clients are away in one round, the other half in the next, with fewer online than wanted too."""
    for k in (4, N // 2 + 3):
        for driver in drivers(make, SMALL, k=k, online=in_turn, replies=most_reply):
            driver.start().play(range(1, 11))


@selector_checks.add
def survives_newcomers_and_leavers(make: Make) -> None:
    """Clients join and leave between rounds; newcomers can be called at once, leavers may come back."""
    half_new, few, strangers = range(N // 2, N + N // 2), (3, 5), range(100, 100 + N)
    for driver in drivers(make, SMALL, replies=most_reply):
        driver.start().play(range(1, 4))
        for step, ids in enumerate((half_new, few, strangers, range(N)), start=1):
            driver.move(SMALL.with_ids(ids))
            driver.k = len(ids)  # everyone must be found: who is known from before is not enough
            driver.play(range(4 * step, 4 * step + 2))
            driver.k = 4
            driver.play(range(4 * step + 2, 4 * step + 4))
