"""The race: a few methods, real data, two federations that are not alike, the same luck for everyone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from callup.analytics.maverick import find
from callup.core.catalogue import DEFAULT, SELECTORS
from callup.core.errors import UsageError, suggest
from callup.core.types import check_k
from callup.experiments.grid import Cell
from callup.partition.label_file import read_labels
from callup.simulation.settings import Settings

DEFAULT_METHODS = ("random", DEFAULT, "power-of-choice", "fedacs", "fedemd", "fed-cbs", "fed-cbs:sharp")


@dataclass(frozen=True)
class Scenario:
    """A federation to race in."""

    name: str
    title: str
    settings: Settings


_MOST_CLIENTS = 300
_BASE = Settings(task="fashion14-mlp", rounds=50, evaluate_every=2, workers=1)  # whole runs are spread

SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario(
            "skewed",
            "Skewed labels: 100 clients, each with one or two classes",
            _BASE.but(partition="dirichlet:clients=100,alpha=0.1", availability="uniform:fraction=0.3", target=0.70),
        ),
        Scenario(
            "mavericks",
            "Mavericks: two of 50 clients own a whole class each",
            _BASE.but(partition="mavericks:clients=50,count=2", k=5, target=0.75, rare_classes=(0, 1)),
        ),
    )
}


def own_scenario(labels: Path, k: int = 10) -> Scenario:
    """A federation of one's own: public data, dealt out to as many clients as its file of label counts says.

    Of very many clients some hundreds, drawn at random: the data are not enough for all.
    """
    table = read_labels(labels)
    rare = sorted({one.label for one in find(table.counts)})
    holders = int(table.counts.any(axis=1).sum())
    title = f"Labels as in {labels.name}: {min(holders, _MOST_CLIENTS):,} clients"
    partition = f"label-counts:file={labels}"
    if holders > _MOST_CLIENTS:
        title += f" of {holders:,}"
        partition += f",clients={_MOST_CLIENTS}"
    settings = _BASE.but(partition=partition, k=min(check_k(k, "k"), holders), rare_classes=tuple(rare))
    return Scenario("own", title, settings)


def race_cells(
    methods: Sequence[str] | None = None,
    seeds: int | None = None,
    seed: int = 0,
    quick: bool = False,
    scenarios: Sequence[str | Scenario] | None = None,
    rounds: int | None = None,
) -> list[Cell]:
    """Every method in every scenario with every seed, five of them; `quick` takes two, and twelve rounds."""
    repeats = check_k((2 if quick else 5) if seeds is None else seeds, "seeds")
    chosen = [one if isinstance(one, Scenario) else _scenario(one) for one in scenarios or SCENARIOS]
    specs = list(dict.fromkeys(methods or DEFAULT_METHODS))
    for spec in specs:
        SELECTORS.make(spec)  # a typo is told now, not in the middle of the race
    length = rounds or (12 if quick else None)
    # Seed by seed, so that a race cut short still compares every method on the seeds it has finished.
    return [
        Cell(
            f"{scenario.name}/{_folder(spec)}-{number}",
            scenario.settings.but(
                selector=spec, seed=number, scenario=scenario.title, rounds=length or scenario.settings.rounds
            ),
        )
        for scenario in chosen
        for number in range(seed, seed + repeats)
        for spec in specs
    ]


def _scenario(name: str) -> Scenario:
    if name not in SCENARIOS:
        raise UsageError(f"unknown scenario '{name}'{suggest(name, SCENARIOS)}")
    return SCENARIOS[name]


def _folder(spec: str) -> str:
    return "".join(c if c.isalnum() or c in "-._" else "_" for c in spec)
