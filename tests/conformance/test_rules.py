"""Registry times checks for averages and filters. No rule is named here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from callup.core.catalogue import AVERAGES, FILTERS
from callup.core.registry import Registry
from callup.testing import average_checks, filter_checks, variants
from callup.testing.registry import Checks


def cases(registry: Registry[Any], checks: Checks[Any]) -> list[Any]:
    return [
        pytest.param(registry, spec, check, id=f"{spec}-{name}")
        for card in registry.cards()
        for spec in variants(card)
        for name, check in checks
    ]


@pytest.mark.parametrize("registry, spec, check", [*cases(AVERAGES, average_checks), *cases(FILTERS, filter_checks)])
def test_rule(registry: Registry[Any], spec: str, check: Callable[[Callable[[], Any]], None]) -> None:
    check(lambda: registry.make(spec))


@pytest.mark.parametrize("registry, least", [(AVERAGES, 2), (FILTERS, 1)])
def test_there_is_something_to_check(registry: Registry[Any], least: int) -> None:
    assert len(registry.cards()) >= least
