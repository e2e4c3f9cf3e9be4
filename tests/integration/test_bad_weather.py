"""Every method, filter and average through fifty rounds with most clients offline, lost replies and slow devices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import callup
from callup.core.catalogue import AVERAGES, FILTERS, SELECTORS
from callup.simulation.run import Run

WEATHER: dict[str, Any] = {
    "partition": "dirichlet:clients=40,alpha=0.2",
    "availability": "uniform:fraction=0.3",
    "lost": 0.2,
    "latency": "log-normal",
    "overcommit": 1.3,
    "k": 5,
    "rounds": 50,
    "seed": 11,
    "evaluate_every": 50,
    "local": {"epochs": 1},
}


def play(**changes: Any) -> Run:
    return callup.simulate(**{**WEATHER, **changes})


def same(one: Run, two: Run) -> None:
    """Two runs with one seed: the same history to the last bit."""
    assert one.history == two.history
    np.testing.assert_array_equal(one.model, two.model)


def sensible(run: Run) -> None:
    assert len(run.history) == 50
    assert sum(bool(record.failed) for record in run.history) > 25  # the weather was bad
    assert all(0 < len(record.used) <= 12 for record in run.history)
    last = run.history[-1].accuracy
    assert last is not None
    assert last > 0.3  # chance is 0.1


@pytest.mark.parametrize("name", [card.name for card in SELECTORS.cards()])
def test_selector(name: str) -> None:
    more = {"filter": "fedca"} if "kept" in SELECTORS.card(name).needs.names("server") else {}
    run = play(selector=name, **more)
    sensible(run)
    same(run, play(selector=name, **more))


@pytest.mark.parametrize("name", [card.name for card in FILTERS.cards()])
def test_filter(name: str) -> None:
    run = play(filter=name)
    assert len(run.history) == 50
    same(run, play(filter=name))


@pytest.mark.parametrize("name", [card.name for card in AVERAGES.cards()])
def test_average(name: str) -> None:
    run = play(average=name)
    assert len(run.history) == 50
    same(run, play(average=name))
