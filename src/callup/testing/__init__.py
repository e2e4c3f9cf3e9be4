"""Checks shipped with the package: what any selector, filter or average must do, yours too.

    import callup.testing
    callup.testing.check_selector(lambda: MySelector())

`selector_checks` gives each check with its name, e.g. for `pytest.mark.parametrize`.
"""

from __future__ import annotations

from callup.testing.checks import selector_checks
from callup.testing.driver import Check, Driver, Make, drivers
from callup.testing.federation import Federation
from callup.testing.variants import variants

__all__ = ["Check", "Driver", "Federation", "Make", "check_selector", "drivers", "selector_checks", "variants"]


def check_selector(make: Make) -> None:
    """Runs every check on selectors made by `make`; one AssertionError names every rule that is broken."""
    selector_checks.run(make)
