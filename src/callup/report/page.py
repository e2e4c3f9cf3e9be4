"""The page itself: gathers words and pictures for each scenario and writes one file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from callup.report import asks, styles
from callup.report.grouping import Scenario, scenarios
from callup.report.rendering import FOLDER, rendered
from callup.report.reproduce import reproduce
from callup.report.sections import sections
from callup.report.tables import summarise
from callup.simulation.run import Run


def write_report(path: str | Path, runs: Sequence[Run], title: str = "Callup", command: str = "") -> Path:
    """Writes the page beside its destination first, so a reader never finds half of one."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.part")
    part.write_text(render(runs, title, command), encoding="utf-8", errors="replace")
    return part.replace(target)


def render(runs: Sequence[Run], title: str = "Callup", command: str = "") -> str:
    """The page as text. Names of methods, scenarios and settings are text, never markup."""
    found = scenarios(runs)
    rows = summarise(runs)
    return rendered(
        "page.html",
        title=title,
        subtitle=_subtitle(found),
        script=Markup((FOLDER / "page.js").read_text(encoding="utf-8")),
        palettes=[*styles.PALETTE, styles.GREY],
        scenarios=[sections(i, scenario, rows) for i, scenario in enumerate(found)],
        asked=asks.asked(method for scenario in found for method in scenario.methods),
        reproduce=reproduce(found, rows, command),
    )


def _subtitle(found: Sequence[Scenario]) -> str:
    methods = {method.name for scenario in found for method in scenario.methods}
    seeds = {seed for scenario in found for method in scenario.methods for seed in method.seeds}
    runs = sum(len(scenario.runs) for scenario in found)

    def count(n: int, word: str) -> str:
        return f"{n} {word}{'' if n == 1 else 's'}"

    parts = [
        count(len(methods), "method"),
        count(len(found), "scenario"),
        count(len(seeds), "seed"),
        count(runs, "run"),
    ]
    return ", ".join(parts)
