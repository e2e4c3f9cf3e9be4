"""The switch that kills: silent when unset, strict about names, exact about when."""

from __future__ import annotations

import pytest

from callup.core.errors import UsageError
from callup.journal import crash


@pytest.fixture(autouse=True)
def afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crash, "_passed", {})
    monkeypatch.delenv(crash.VARIABLE, raising=False)


def test_nothing_happens_unless_told() -> None:
    assert not any(crash.due(name) for name in crash.POINTS)


@pytest.mark.parametrize(("wanted", "due"), [("after-append", [1]), ("after-append@3", [3]), ("before-sync", [])])
def test_the_wanted_pass_of_the_wanted_point(wanted: str, due: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(crash.VARIABLE, wanted)
    assert [turn for turn in range(1, 6) if crash.due("after-append")] == due


@pytest.mark.parametrize("wanted", ["after-apend", "", "after-append@x", "after-append@-1", "after-append@"])
def test_a_misspelt_wish_is_told(wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(crash.VARIABLE, wanted)
    with pytest.raises(UsageError, match="CALLUP_CRASH"):
        crash.due("before-append")
