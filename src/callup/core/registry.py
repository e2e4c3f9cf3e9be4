"""Names for methods: a decorator adds one, `name:key=value` makes one, and a typo gets a suggestion."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from callup.core import plugins
from callup.core.errors import UsageError, suggest
from callup.core.signals import Needs
from callup.core.spec import build, describe, field_types, parse_spec

T = TypeVar("T")


@dataclass(frozen=True)
class Parameter:
    """One hyper-parameter as shown to people."""

    name: str
    kind: str
    default: Any


@dataclass(frozen=True)
class Card:
    """What there is to know of a method before using it; pages, tables and checks are made from it."""

    name: str
    cls: type
    paper: str = ""
    needs: Needs = field(default_factory=lambda: Needs.of(()))
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    cost: str = ""
    """Work per round at the server."""
    max_clients: int | None = None
    """Above this the method refuses; None means a million is fine."""
    with_replacement: bool = False
    """May name fewer than k: a client drawn twice carries the multiplicity in its weight."""
    takes_everyone: bool = False
    """Ignores k."""
    one_by_one: bool = False
    """Scores each client by itself, so that the k best of a longer list are the k best: the guard may draw from it."""
    version: int = 1
    """Raised when results change, so that stored results know they are old."""

    @property
    def summary(self) -> str:
        """The first line of the docstring: the idea."""
        return _doc(self.cls).split("\n", 1)[0]

    @property
    def idea(self) -> str:
        """The docstring up to where it says what differs from the paper."""
        return _doc(self.cls).partition("Differs from the paper:")[0].strip()

    @property
    def differs(self) -> str:
        """Where the method differs from its paper, from the docstring."""
        _, _, rest = _doc(self.cls).partition("Differs from the paper:")
        return rest.strip()

    @property
    def parameters(self) -> list[Parameter]:
        hints = field_types(self.cls)
        return [Parameter(f.name, describe(hints[f.name]), _default(f)) for f in dataclasses.fields(self.cls) if f.init]


class Registry(Generic[T]):
    """Methods of one kind. A folder, or a single module, is the catalogue: it is read whole on first use."""

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self._package = package
        self._cards: dict[str, Card] = {}
        self._read = False

    def add(self, name: str, *, needs: Iterable[str] = (), **facts: Any) -> Callable[[type], type]:
        """A class decorator; the class is a dataclass whose fields are its parameters."""

        def decorate(cls: type) -> type:
            if not dataclasses.is_dataclass(cls):
                raise TypeError(f"{cls.__name__} must be a dataclass: its fields are its parameters")
            known = self._cards.get(name)
            if known is not None and _address(known.cls) != _address(cls):
                raise ValueError(f"{self.kind} '{name}' is already {_address(known.cls)}")
            card = Card(name, cls, needs=Needs.of(needs), **facts)
            self._cards[name] = card
            cls.card = card  # type: ignore[attr-defined]
            return cls

        return decorate

    def cards(self) -> list[Card]:
        """Every card, by name."""
        self._read_package()
        return [self._cards[name] for name in sorted(self._cards)]

    def card(self, name: str) -> Card:
        """The card of this name; unknown names get a suggestion."""
        self._read_package()
        if name not in self._cards:
            raise UsageError(f"unknown {self.kind} '{name}'{suggest(name, self._cards)}")
        return self._cards[name]

    def make(self, spec: str | T, **overrides: Any) -> T:
        """An instance from `"name:key=value"`; an instance is returned as it is."""
        if not isinstance(spec, str):
            if overrides:
                raise UsageError(f"parameters {sorted(overrides)} cannot be set on a ready-made {self.kind}")
            return spec
        name, words, pairs = parse_spec(spec)
        card = self.card(name)
        values: dict[str, Any] = {}
        for word in words:
            if word not in card.presets:
                raise UsageError(
                    f"{name} has no preset '{word}'{suggest(word, card.presets)}; parameters are written key=value"
                )
            values |= card.presets[word]
        made: T = build(card.cls, name, {**values, **pairs, **overrides})
        return made

    def _read_package(self) -> None:
        if self._read:
            return
        package = importlib.import_module(self._package)
        for module in pkgutil.iter_modules(getattr(package, "__path__", [])):
            importlib.import_module(f"{self._package}.{module.name}")
        plugins.load_shared()
        # Only now: a module that cannot be imported must fail again, not leave a catalogue with a hole in it.
        self._read = True


def _address(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _doc(cls: type) -> str:
    return inspect.cleandoc(cls.__doc__ or "")


def _default(f: dataclasses.Field[Any]) -> Any:
    if f.default is not dataclasses.MISSING:
        return f.default
    return f.default_factory() if f.default_factory is not dataclasses.MISSING else "required"
