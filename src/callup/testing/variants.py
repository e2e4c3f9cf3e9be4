"""The faces of a method that deserve a test of their own."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterator
from typing import Any, Literal

from callup.core.registry import Card
from callup.core.spec import field_types


def variants(card: Card) -> Iterator[str]:
    """Specs of the default, of each preset, and of each choice and each switch that is not the default."""
    yield card.name
    for preset in card.presets:
        yield f"{card.name}:{preset}"
    kinds = field_types(card.cls)
    for field in dataclasses.fields(card.cls):
        for choice in _choices(kinds.get(field.name)):
            if choice != field.default:
                yield f"{card.name}:{field.name}={choice}"


def _choices(kind: Any) -> tuple[Any, ...]:
    if kind is bool:
        return (True, False)
    if typing.get_origin(kind) is Literal:
        return typing.get_args(kind)
    # `Literal[...] | None`: the choices are inside.
    return tuple(choice for part in typing.get_args(kind) for choice in _choices(part))
