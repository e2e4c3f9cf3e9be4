"""Names that other people's code and configuration files rely on; a name that goes away must be a decision."""

from __future__ import annotations

from pathlib import Path

from callup.core.catalogue import AVERAGES, FILTERS, SELECTORS

TESTS = Path(__file__).resolve().parents[1]

METHODS = (
    *("random", "by-size", "balanced", "all"),
    *("fedacs", "fedemd", "fed-cbs", "fedcm-ucb", "fedcm-ts", "nccb"),
    *("power-of-choice", "active-fl", "fed-cucb", "astraea", "shapley", "influence", "tifl", "fedfast", "oort"),
    *("k-linucb", "divfl", "clustered-size", "clustered-similarity", "fedcor"),
)


def test_every_promised_name_is_there() -> None:
    assert set(METHODS) <= {card.name for card in SELECTORS.cards()}
    assert {"fedca", "cmfl"} <= {card.name for card in FILTERS.cards()}
    assert {"mean", "weighted", "fedavg-stale", "fedpdp", "fednova"} <= {card.name for card in AVERAGES.cards()}


def test_every_method_has_a_case_worked_by_hand() -> None:
    """`test_<module>.py`; a module whose name the maths already uses has `test_<module>_selector.py`."""
    for registry in (SELECTORS, FILTERS, AVERAGES):
        for card in registry.cards():
            module = card.cls.__module__.rsplit(".", 1)[-1]
            found = [TESTS / "worked" / f"test_{module}{end}.py" for end in ("", "_selector")]
            assert any(path.exists() for path in found), f"{card.name} has no worked case"
