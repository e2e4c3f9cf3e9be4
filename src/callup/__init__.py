"""Callup chooses which clients train in each round of federated learning."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from callup import flower, testing
    from callup.api import selector, selectors, simulate
    from callup.core.clients import Clients
    from callup.core.randomness import stream
    from callup.core.selector import Selector
    from callup.core.types import Feedback, Plan, Round, Selection

__version__ = "0.1.0"

__all__ = [
    "Clients",
    "Feedback",
    "Plan",
    "Round",
    "Selection",
    "Selector",
    "flower",
    "selector",
    "selectors",
    "simulate",
    "stream",
    "testing",
]

# Names are fetched when first used: `import callup` and `callup --help` load nothing heavy.
_HOMES = {
    "Clients": "callup.core.clients",
    "Feedback": "callup.core.types",
    "Plan": "callup.core.types",
    "Round": "callup.core.types",
    "Selection": "callup.core.types",
    "Selector": "callup.core.selector",
    "selector": "callup.api",
    "simulate": "callup.api",
    "stream": "callup.core.randomness",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in ("flower", "selectors", "testing"):
        return importlib.import_module(f"callup.{name}")
    raise AttributeError(f"module 'callup' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
