"""Draws the documentation's pictures from real runs: `make pictures`. Slow, so it is run by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import callup
from callup.core.catalogue import SELECTORS
from callup.report import raster, styles
from callup.report.curves import curves
from callup.report.grouping import scenarios
from callup.report.lines import line_chart
from callup.report.standalone import standalone
from callup.simulation.store import load_runs

DOCS = Path(__file__).resolve().parent
TOY = {"partition": "mavericks:clients=40,count=2", "k": 4, "rounds": 60, "seed": 1, "evaluate_every": 60}


def race(folder: Path) -> None:
    """The first picture of the README: accuracy by round in a race."""
    scenario = scenarios(load_runs(folder))[0]
    found = curves(scenario.methods, styles.styles(scenario.methods), lambda record: record.accuracy)
    drawn = line_chart(found, f"{scenario.title}: accuracy by round", True, scenario.target)
    (DOCS / "pictures" / "race.svg").write_text(standalone(drawn), encoding="utf-8")


def methods() -> None:
    """For every method who is called, round by round, in one toy federation with two Mavericks."""
    folder = DOCS / "methods" / "pictures"
    folder.mkdir(exist_ok=True)
    for card in SELECTORS.cards():
        filtered = {"filter": "fedca"} if "kept" in card.needs.names("server") else {}
        run = callup.simulate(selector=card.name, **TOY, **filtered)
        image = raster.images([run], (0, 1))[0]
        drawn = raster.panel(run, (0, 1), image, f"Who {card.name} calls: 40 clients, 60 rounds")
        (folder / f"{card.name}.svg").write_text(standalone(drawn), encoding="utf-8")


if __name__ == "__main__":
    methods()
    if len(sys.argv) > 1:
        race(Path(sys.argv[1]))
