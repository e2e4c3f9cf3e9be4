"""Registry times checks: every selector, every preset and every choice of each parameter. No method is named here."""

from __future__ import annotations

import pytest

import callup.testing
from callup.core.catalogue import SELECTORS
from callup.core.errors import UsageError

CASES = [spec for card in SELECTORS.cards() for spec in callup.testing.variants(card)]


@pytest.mark.parametrize("spec", CASES)
@pytest.mark.parametrize("check", [pytest.param(check, id=name) for name, check in callup.testing.selector_checks])
def test_selector(spec: str, check: callup.testing.Check) -> None:
    try:
        SELECTORS.make(spec)
    except UsageError as refusal:
        pytest.skip(f"not meant to be used alone: {refusal}")
    check(lambda: SELECTORS.make(spec))


def test_every_selector_has_cases() -> None:
    assert {spec.partition(":")[0] for spec in CASES} == {card.name for card in SELECTORS.cards()}
    assert len(CASES) >= 3
