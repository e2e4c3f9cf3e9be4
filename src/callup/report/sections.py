"""The parts of one scenario's chapter, each ready to be placed on the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from callup.report import asks, charts, contest, guarding, lorenz, measures, raster, summary, wording
from callup.report.coverage import coverage, reach, seen_so_far, worst_off
from callup.report.grouping import Scenario
from callup.report.headline import headline
from callup.report.reproduce import facts
from callup.report.styles import Style, styles
from callup.report.svg import drawing, line, marker
from callup.report.tables import Row
from callup.simulation.run import Run


@dataclass(frozen=True)
class Panel:
    """One of several small pictures, one for each method."""

    method: int
    name: str
    picture: Markup
    note: str


def sections(number: int, scenario: Scenario, rows: list[Row]) -> dict[str, Any]:
    """Everything the template needs; a part is None or empty where its data is missing."""
    looks = styles(scenario.methods)
    spreads = lorenz.spreads(scenario.methods, looks)
    return {
        "id": f"scenario-{number + 1}",
        "title": scenario.title,
        "facts": facts(scenario),
        "headline": headline(scenario),
        "stopped": _stopped(scenario),
        "legend": [(i, m.name, swatch(look)) for i, (m, look) in enumerate(zip(scenario.methods, looks, strict=True))],
        "accuracy": charts.lines(scenario, looks, lambda r: r.accuracy, "Test accuracy by round", scenario.target),
        "rounds": charts.dots(scenario, looks, "round", lambda r: float(r.index)),
        "times": charts.times(scenario, looks),
        "target": "" if scenario.target is None else wording.short_percent(scenario.target),
        "calls": _calls(scenario),
        "labelled": all("label_counts" in run.clients for run in scenario.runs),
        "rare": ", ".join(map(str, scenario.rare_classes)),
        "coverage": _coverage(scenario),
        "recall": charts.rare_recall(scenario, looks),
        "lorenz": lorenz.lorenz_chart(spreads, "Share of calls by share of clients") if spreads else None,
        "spreads": spreads,
        "guarded": guarding.watched(scenario),
        "costs": [(m.name, asks.cost(m)) for m in scenario.methods],
        "columns": summary.columns(scenario),
        "lines": summary.lines(scenario, rows),
        "bold": summary.note(scenario),
    }


def swatch(look: Style) -> Markup:
    """A short piece of a method's line, for the buttons."""
    return drawing(
        34,
        12,
        "",
        line((1, 6), (33, 6), class_="line", stroke_dasharray=look.dash),
        marker(look.marker, (17, 6), 3.6, class_="mark"),
        class_=f"swatch s{look.colour}",
        role=None,
        aria_label=None,
        aria_hidden="true",
    )


def _stopped(scenario: Scenario) -> str:
    early = [run for run in scenario.runs if not contest.complete(run, scenario)]
    if not early or not scenario.horizon:
        return ""
    return (
        f"{len(early)} of {wording.plural(len(scenario.runs), 'run')} ended before round {scenario.horizon}. "
        "They are drawn as far as they go and take part in comparisons only where they had reached the target."
    )


def _calls(scenario: Scenario) -> list[Panel]:
    """The first seed of each method that began."""
    begun = [(i, method) for i, method in enumerate(scenario.methods) if method.runs[0].history]
    rare = scenario.rare_classes
    pictures = raster.images([method.runs[0] for _, method in begun], rare)
    out = []
    for (i, method), image in zip(begun, pictures, strict=True):
        title = f"Clients called by {method.name} in each round, seed {method.seeds[0]}"
        picture = raster.panel(method.runs[0], rare, image, title)
        out.append(Panel(i, method.name, picture, _called(method.runs[0], rare)))
    return out


def _called(run: Run, rare: Sequence[int]) -> str:
    counts = measures.calls(run)
    people = raster.roster(run.clients, rare)
    said = f"{int((counts > 0).sum())} of {len(counts)} clients called"
    special = people.order[people.maverick]
    if len(special) and counts.any():
        share, even = counts[special].sum() / counts.sum(), len(special) / len(counts)
        said += f"; Mavericks {wording.percent(share)} of calls (even share {wording.percent(even)})"
    return said


def _coverage(scenario: Scenario) -> list[Panel]:
    out = []
    every = [seen_so_far(method) for method in scenario.methods]
    octaves = reach([ratios for ratios in every if ratios is not None])
    for i, (method, ratios) in enumerate(zip(scenario.methods, every, strict=True)):
        if ratios is not None:
            said = worst_off(ratios[-1])
            picture = coverage(ratios, scenario.rare_classes, octaves, f"Classes seen by {method.name} over rounds")
            out.append(Panel(i, method.name, picture, said))
    return out
