"""The names others rely on; removing one breaks their code."""

from __future__ import annotations

import subprocess
import sys

import pytest

import callup
import callup.testing

PUBLIC = [
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

TESTING = [
    "Check",
    "Driver",
    "Federation",
    "average_checks",
    "check_average",
    "check_filter",
    "check_selector",
    "drivers",
    "filter_checks",
    "selector_checks",
    "variants",
]


def test_the_public_names_are_these() -> None:
    assert callup.__all__ == PUBLIC
    assert dir(callup) == PUBLIC
    assert all(getattr(callup, name) is not None for name in PUBLIC)
    assert callup.testing.__all__ == TESTING
    assert all(hasattr(callup.testing, name) for name in TESTING)


def test_an_unknown_name_is_an_ordinary_error() -> None:
    with pytest.raises(AttributeError, match="module 'callup' has no attribute 'select'"):
        callup.select  # noqa: B018


def test_the_folder_of_selectors_answers_the_call() -> None:
    assert [card.name for card in callup.selectors()] == sorted(card.name for card in callup.selectors())


def test_importing_loads_nothing_heavy() -> None:
    code = "import sys, callup, callup.testing; print([m for m in %r if m in sys.modules])"
    heavy = ["torch", "flwr", "pytest", "typer", "rich", "sklearn", "scipy", "jinja2"]
    done = subprocess.run([sys.executable, "-c", code % heavy], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
