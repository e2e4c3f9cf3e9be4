"""Every selector, filter and average keeps its contract."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from callup.core.catalogue import AVERAGES, FILTERS, SELECTORS
from callup.core.registry import Registry
from callup.experiments.selftest.finding import Seen
from callup.testing import average_checks, filter_checks, selector_checks

_TAKES_LONG = ("scale",)  # measured by `make bench-select`, where nothing else runs


def contract(folder: Path) -> Seen:  # noqa: ARG001
    """The checks that are shipped for other people's methods, on each of ours with its defaults."""
    cases = 0
    failures: list[str] = []
    rules: list[tuple[Registry[Any], Iterable[tuple[str, Callable[..., None]]]]] = [
        (SELECTORS, selector_checks),
        (FILTERS, filter_checks),
        (AVERAGES, average_checks),
    ]
    for registry, checks in rules:
        for card in registry.cards():
            for rule, check in checks:
                if any(word in check.__module__ for word in _TAKES_LONG):
                    continue
                cases += 1
                try:
                    check(lambda registry=registry, name=card.name: registry.make(name))
                except AssertionError as broken:
                    failures.append(f"{card.name} {rule}: {broken}")
    methods = sum(len(registry.cards()) for registry, _ in rules)
    return Seen(f"{cases} checks of {methods} methods, {len(failures)} broken", cases, tuple(failures))
