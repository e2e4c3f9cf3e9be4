"""Odd values: enormous, all equal, all zero, one class, and silence."""

from __future__ import annotations

from callup.testing.checks.base import ROUNDS, SMALL, N, most_reply, selector_checks
from callup.testing.driver import Make, drivers
from callup.testing.federation import Mood


def _plays(make: Make, *moods: Mood) -> None:
    for mood in moods:
        for k in (4, N):
            for driver in drivers(make, SMALL.like(mood), k=k, replies=most_reply):
                try:
                    driver.start().play(ROUNDS)
                except AssertionError as broken:
                    raise AssertionError(f"when values are '{mood}', {broken}") from broken


@selector_checks.add
def bears_enormous_values(make: Make) -> None:
    """A loss of 1e30 and sizes of 1e12, of everyone or of one client that lies."""
    _plays(make, "huge", "liar")


@selector_checks.add
def bears_values_that_are_all_equal(make: Make) -> None:
    """No client stands out: a scale from lowest to highest has no length."""
    _plays(make, "ties")


@selector_checks.add
def bears_values_that_are_all_zero(make: Make) -> None:
    """Nobody has data, nobody has a loss: sums to divide by are zero."""
    _plays(make, "zeros")


@selector_checks.add
def bears_a_single_class(make: Make) -> None:
    """Only one class exists, or only one of several is held by anybody."""
    _plays(make, "one class", "one label")


@selector_checks.add
def bears_silence(make: Make) -> None:
    """Some or all clients do not answer a probe."""
    _plays(make, "half silent", "silent")
