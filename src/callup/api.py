"""The few functions most people call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from callup.core.catalogue import SELECTORS
from callup.core.registry import Card
from callup.core.selector import Selector

if TYPE_CHECKING:
    from callup.simulation.run import Run


def selector(spec: str | Selector, **parameters: Any) -> Selector:
    """A selector by name and spec, e.g. `callup.selector("fed-cbs:scale=3.5")`."""
    return SELECTORS.make(spec, **parameters)


def selectors() -> list[Card]:
    """The cards of all selectors, by name."""
    return SELECTORS.cards()


def simulate(**settings: Any) -> Run:
    """Runs one federation in this process: see `callup.simulation.settings.Settings` for what can be set."""
    from callup.simulation.engine import simulate as run

    return run(**settings)
