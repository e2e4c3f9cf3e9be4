"""Selection without training: the very cohorts of the real run, and the imbalance that theory gives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from callup.core.catalogue import SELECTORS
from callup.core.errors import CallupError, UsageError
from callup.experiments.metrics import METRICS
from callup.simulation.engine import simulate
from callup.simulation.picks import can_play, play_picks

WORLD: dict[str, Any] = {
    "task": "fashion14-mlp:hidden=4",
    "partition": "dirichlet:clients=30,alpha=0.2",
    "availability": "uniform:fraction=0.5",
    "k": 5,
    "rounds": 6,
    "seed": 3,
    "local": {"epochs": 1},
}
PLAYABLE = [card.name for card in SELECTORS.cards() if can_play(card.name)]


def test_who_can_be_played() -> None:
    assert {"all", "random", "by-size", "fed-cbs", "astraea", "balanced", "fedemd", "fedfast"} <= set(PLAYABLE)
    assert not {"fedacs", "power-of-choice", "nccb", "fedcm-ts", "fed-cucb", "shapley", "tifl"} & set(PLAYABLE)


@pytest.mark.parametrize("selector", PLAYABLE)
def test_cohorts_are_those_of_the_real_run(selector: str) -> None:
    real, alone = simulate(selector, **WORLD), play_picks(selector, **WORLD)
    for a, b in zip(real.history, alone.history, strict=True):
        for name in ("index", "available", "asked", "used", "digest", "qcid", "class_counts", "notes"):
            assert getattr(a, name) == getattr(b, name), name
    states = (run.states["selector"] for run in (real, alone))
    for a, b in zip(*(sorted(state.items()) for state in states), strict=True):
        assert a[0] == b[0] and np.array_equal(a[1], b[1], equal_nan=True)
    assert METRICS["expected_qcid"](real) == METRICS["expected_qcid"](alone)


@pytest.mark.parametrize("selector", ["fedacs", "power-of-choice", "nccb", "fedcm-ts"])
def test_who_learns_from_training_is_refused(selector: str) -> None:
    with pytest.raises(CallupError, match=selector):
        play_picks(selector, **WORLD)


@pytest.mark.parametrize(
    "change", [{"filter": "cmfl"}, {"lost": 0.1}, {"overcommit": 1.3}, {"deadline": 5.0}, {"guard": "on"}]
)
def test_what_depends_on_replies_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"{next(iter(change))} is .* picks alone have no replies"):
        play_picks("random", **WORLD, **change)


def test_imbalance_of_one_class_clients_is_what_theory_says() -> None:
    # Fed-CBS Case 2, 5:1: 60 clients online, 10 of each of five classes and 2 of each of the others.
    world = {"partition": "case2", "availability": "per-class:count=60,ratio=5", "k": 10, "rounds": 400}
    shares = np.repeat([10 / 60, 2 / 60], 5)
    everyone = float(((shares - 0.1) ** 2).sum())  # 0.0444
    assert METRICS["expected_qcid"](play_picks("all", **world)).value == pytest.approx(everyone, abs=1e-12)
    # Ten drawn from sixty without replacement: E = everyone + (1 - sum p^2)/n (N - n)/(N - 1), 0.1169.
    expected = everyone + (1 - (shares**2).sum()) / 10 * 50 / 59
    played = play_picks("random", **world)
    found = np.array([record.qcid for record in played.history])
    # The mean of 400 rounds: beyond five of its own standard errors once in a million.
    assert abs(found.mean() - expected) < 5 * found.std() / math.sqrt(len(found))
