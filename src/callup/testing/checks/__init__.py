"""What every selector must do, one topic a file; reading the files fills `selector_checks`."""

from __future__ import annotations

from callup.testing.checks import card, cohort, manners, memory, repeatable, scale, scores, values, weather
from callup.testing.checks.base import selector_checks

__all__ = [
    "card",
    "cohort",
    "manners",
    "memory",
    "repeatable",
    "scale",
    "scores",
    "selector_checks",
    "values",
    "weather",
]
