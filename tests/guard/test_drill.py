"""Liars against selectors: with the guard on they never win more than it promises, and without it they do.

After eight fair turns the cap holds for every client without exception, so these tests have no false alarms: a hundred
rounds of ten places for a hundred clients are ten turns.
"""

from __future__ import annotations

import pytest

from callup.core.catalogue import DEFAULT, SELECTORS
from callup.simulation.drill import drill

HARDEST = {
    "active-fl": "balanced-giant",
    "all": "balanced-giant",
    "astraea": "balanced-giant",
    "balanced": "balanced-giant",
    "by-size": "balanced-giant",
    "clustered-similarity": "balanced-giant",
    "clustered-size": "balanced-giant",
    "divfl": "fast-then-stall",
    "fed-cbs": "balanced-giant",
    "fed-cucb": "balanced-giant",
    "fedacs": "fast-then-stall",
    "fedcm-ts": "fast-then-stall",
    "fedcm-ucb": "fast-then-stall",
    "fedcor": "balanced-giant",
    "fedemd": "fast-then-stall",
    "fedemd-l2": "fast-then-stall",
    "fedfast": "fast-then-stall",
    "influence": "fast-then-stall",
    "k-linucb": "balanced-giant",
    "nccb": "balanced-giant",
    "oort": "balanced-giant",
    "power-of-choice": "balanced-giant",
    "random": "balanced-giant",
    "shapley": "fast-then-stall",
    "tifl": "fast-then-stall",
}
"""The lie that won most against each method with the guard on, by the stored table of all pairs."""

PROMISED = {
    "fedacs": 0.5,
    "fedcm-ts": 0.65,
    "fedcm-ucb": 0.4,
    "fedemd": 0.4,
    "fedemd-l2": 0.4,
    "lineup": 0.65,
    "power-of-choice": 0.55,
}
"""Where it is not 30 %: caps of 2.5 and 2, and a tenth to 0.35 of the places beyond the cap."""

FASTER = {"nccb": "nccb:steps=20,width=16", "fedcor": "fedcor:steps=5"}


@pytest.mark.parametrize("name", [*(card.name for card in SELECTORS.cards()), DEFAULT])
def test_a_fifth_of_liars_stay_within_the_bound(name: str) -> None:
    card = SELECTORS.make(name).card
    promised = 0.2 if card.takes_everyone else PROMISED.get(card.name, 0.3)
    seen = drill(FASTER.get(name, name), HARDEST.get(card.name, "inflated-loss"), "on", rounds=100)
    assert seen.liars == 0.2
    assert seen.bound == pytest.approx(promised)
    assert seen.places <= promised
    assert seen.beyond == 0


@pytest.mark.parametrize("lie", ["inflated-loss", "mimic", "replayed-update"])
@pytest.mark.parametrize("share", [0.01, 0.05])
def test_few_liars_against_a_greedy_method(lie: str, share: float) -> None:
    seen = drill("active-fl", f"{lie}:share={share}", "on", rounds=100)
    assert seen.bound is not None
    assert seen.places <= seen.bound <= 1.5 * share + 1e-9


@pytest.mark.parametrize(
    ("name", "lie", "least"),
    [
        ("active-fl", "inflated-loss", 0.7),
        ("fed-cbs", "balanced-giant", 0.9),
        ("fedcm-ucb", "fast-then-stall", 0.7),
        ("power-of-choice:d=40", "mimic", 0.4),
    ],
)
def test_without_the_guard_they_win(name: str, lie: str, least: float) -> None:
    assert drill(name, lie, "off", rounds=100).places > least


def test_one_owner_wins_its_cap_and_no_more() -> None:
    # 20 of 100 clients have one owner: 81 owners, and three times the fair share of one is 3 / 81.
    seen = drill("active-fl", "sybils", "on", rounds=100)
    assert seen.places <= 3 / 81


def test_free_riders_are_caught() -> None:
    seen = drill("fedacs", "replayed-update", "on", rounds=60)
    assert seen.liars_caught >= 18  # of 20
    assert seen.honest_caught == 0


@pytest.mark.parametrize("name", ["fed-cbs", "oort", "fedacs", "power-of-choice", "divfl"])
def test_nobody_honest_is_ever_caught(name: str) -> None:
    assert drill(name, None, "on", rounds=100).honest_caught == 0


def test_the_same_seed_gives_the_same_drill() -> None:
    assert drill("oort", "mimic", "on", rounds=20) == drill("oort", "mimic", "on", rounds=20)
    assert len({drill("oort", "mimic", "on", rounds=20, seed=seed) for seed in range(4)}) > 1
