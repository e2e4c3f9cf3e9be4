"""The card says what there is to know, and what it says is true."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from callup.core.errors import CallupError
from callup.core.selector import Method
from callup.core.spec import build, coerce, field_types
from callup.testing.checks.base import selector_checks
from callup.testing.driver import Make, blaming
from callup.testing.registry import require

_NO_CARD = "has no card: decorate the class with @SELECTORS.add(name, ...)"


@selector_checks.add
def has_a_complete_card(make: Callable[[], Method]) -> None:
    """Name, summary, paper and cost are there; the card belongs to this very class."""
    with blaming("it cannot be made"):
        made = make()
    require(hasattr(made, "card"), _NO_CARD)
    card = made.card
    require(card.cls is type(made), f"its card belongs to {card.cls.__name__}, not to {type(made).__name__}")
    require(bool(card.summary), "has no docstring; its first line is the summary")
    require(len(card.summary) <= 120, f"the first line of the docstring is {len(card.summary)} characters long")
    for name in ("paper", "cost"):
        require(bool(getattr(card, name)), f"the card does not say its {name}")


@selector_checks.add
def declares_its_needs_on_the_card(make: Make) -> None:
    """What a variant asks for is among what the card says the method may ask for."""
    with blaming("it cannot be made"):
        selector = make()
    shown = {(a.signal.name, a.time) for need in selector.card.needs for a in need.any_of}
    asked = {(a.signal.name, a.time) for need in selector.needs for a in need.any_of}
    hidden = sorted(f"{name}@{time}" for name, time in asked - shown)
    require(not hidden, f"needs {', '.join(hidden)}, which the card does not name")


@selector_checks.add
def builds_from_its_defaults_and_presets(make: Callable[[], Method]) -> None:
    """Every parameter has a default of its own type, and every preset can be built."""
    with blaming("it cannot be made"):
        cls = type(make())
    require("card" in vars(cls), _NO_CARD)
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]
        given = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
        require(given, f"parameter '{field.name}' has no default")
    with blaming("it cannot be made from its defaults"):
        plain = cls()
    for name, kind in field_types(cls).items():
        value = getattr(plain, name)
        with blaming(f"the default of '{name}' does not fit its type"):
            read = coerce(value, kind, name)
        require(read == value, f"the default of '{name}' is {value!r}, read by its type as {read!r}")
    for preset, values in cls.card.presets.items():
        try:
            build(cls, cls.card.name, values)
        except CallupError as error:
            raise AssertionError(f"preset '{preset}' cannot be built: {error}") from error
