"""Checks shipped with the package: what any selector, average or filter must do, yours too.

    import callup.testing
    callup.testing.check_selector(lambda: MySelector())

`selector_checks`, `average_checks` and `filter_checks` give each check with its name, e.g. to parametrise tests.
"""

from __future__ import annotations

from callup.testing.averages import MakeAverage, average_checks
from callup.testing.checks import selector_checks
from callup.testing.driver import Check, Driver, Make, drivers
from callup.testing.federation import Federation
from callup.testing.filters import MakeFilter, filter_checks
from callup.testing.variants import variants

__all__ = [
    "Check",
    "Driver",
    "Federation",
    "average_checks",
    "check_average",
    "check_filter",
    "check_selector",
    "drivers",
    "filter_checks",
    "selector_checks",
    "variants",
]


def check_selector(make: Make) -> None:
    """Runs every check on selectors made by `make`; one AssertionError names every rule that is broken."""
    selector_checks.run(make)


def check_average(make: MakeAverage) -> None:
    """The same for averages."""
    average_checks.run(make)


def check_filter(make: MakeFilter) -> None:
    """The same for filters."""
    filter_checks.run(make)
