"""Callup inside Flower: the same selectors in its simulation engine and in real federations."""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from callup.core.errors import UsageError

if TYPE_CHECKING:
    from callup.flower.client import answer
    from callup.flower.insights import ask_insights, skewness_table
    from callup.flower.local import LocalGrid, run_local
    from callup.flower.selecting import Selecting
    from callup.flower.validation import Evaluation, Validation

__all__ = [
    "Evaluation",
    "LocalGrid",
    "Selecting",
    "Validation",
    "answer",
    "ask_insights",
    "run_local",
    "skewness_table",
]

# Fetched when first used: nothing here loads Flower before somebody needs it.
_HOMES = {
    "Evaluation": "validation",
    "LocalGrid": "local",
    "Selecting": "selecting",
    "Validation": "validation",
    "answer": "client",
    "ask_insights": "insights",
    "run_local": "local",
    "skewness_table": "insights",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'callup.flower' has no attribute '{name}'")
    if importlib.util.find_spec("flwr") is None:
        raise UsageError("callup.flower needs Flower; install it with: pip install 'callup[flower]'")
    return getattr(importlib.import_module(f"callup.flower.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
