"""The battery's arithmetic: what the guard costs, and whether liars stayed within its bound."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

BATTERY = Path(__file__).resolve().parents[2] / "battery"


@pytest.fixture
def battery(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BATTERY))


def runs(off: list[int], on: list[int], method: str = "m", recall: float | None = None) -> list[dict[str, Any]]:
    return [
        {**{"place": "p", "method": method, "guard": guard, "seed": seed, "rounds": rounds}, **facts}
        for guard, many in (("off", off), ("on", on))
        for seed, rounds in enumerate(many)
        for facts in [{"accuracy": 0.5 if guard == "off" else 0.48, "recall": recall, "quarantined": 0}]
    ]


@pytest.mark.usefixtures("battery")
def test_interval_by_hand() -> None:
    from intervals import interval

    # 1, 2, 3, 4: mean 2.5, deviation sqrt(5/3), three degrees of freedom: 3.182.
    found = interval([1, 2, 3, 4])
    half = 3.182 * math.sqrt(5 / 3) / 2
    assert (found.mean, found.low, found.high) == pytest.approx((2.5, 2.5 - half, 2.5 + half))
    assert interval([7]).high == math.inf
    assert interval([0.0] * 40).low == 0.0


@pytest.mark.usefixtures("battery")
def test_losses_are_paired_and_in_the_unit_of_their_goal() -> None:
    from price import cases

    (case,) = cases(runs([10, 20], [12, 21], recall=0.25))
    # 2 and 1 more rounds: 1.5 of 15 are 10 per cent. Accuracy falls by 2 points in both, recall by none.
    assert case.losses["rounds"].loss.mean == pytest.approx(10.0)
    assert case.losses["rounds"].met
    assert not case.losses["rounds"].shown
    assert case.losses["accuracy"].loss.mean == pytest.approx(2.0)
    assert case.losses["accuracy"].refuted
    assert case.losses["recall"].shown


@pytest.mark.usefixtures("battery")
def test_a_seed_without_its_pair_does_not_count() -> None:
    from price import cases, together

    rows = runs([10, 20, 90], [12, 21])
    (case,) = cases(rows)
    assert case.seeds == 2
    assert "recall" not in case.losses
    # Of each seed the sum of rounds: 12/10 and 21/20, that is 20 and 5 per cent more.
    assert together(rows).mean == pytest.approx(12.5)


@pytest.mark.usefixtures("battery")
def test_the_verdict_names_who_is_above_the_bound() -> None:
    from adversaries_page import verdict

    def drills(places: list[float]) -> list[dict[str, Any]]:
        same = {"selector": "s", "lie": "l", "guard": "on", "bound": 0.3, "beyond": 0, "honest_caught": 0}
        return [{**same, "seed": seed, "places": share} for seed, share in enumerate(places)]

    # Mean 0.307, standard error 0.007: one is above the bound, the mean by fewer than three errors.
    assert "1 of 3 drills" in verdict(drills([0.30, 0.32, 0.30]))
    assert "standard errors: none" in verdict(drills([0.30, 0.32, 0.30]))
    assert "standard errors: s, l" in verdict(drills([0.33, 0.331, 0.332]))
