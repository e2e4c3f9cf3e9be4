"""The parts of one scenario's chapter, each ready to be placed on the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from callup.report import asks, contest, lorenz, measures, raster, summary, wording
from callup.report.coverage import coverage, reach, seen_so_far, worst_off
from callup.report.curves import Curve, curves, recall_of
from callup.report.dots import DotRow, dot_plot
from callup.report.grouping import Method, Scenario, seed_of
from callup.report.headline import headline
from callup.report.lines import line_chart, tip_data
from callup.report.reproduce import facts
from callup.report.styles import Style, styles
from callup.report.svg import drawing, line, marker
from callup.report.tables import Row
from callup.simulation.run import RoundRecord


@dataclass(frozen=True)
class Chart:
    """The same picture for wide and for narrow screens, and the values shown under the pointer."""

    wide: Markup
    narrow: Markup
    data: dict[str, object] | None = None
    note: str = ""


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
    return {
        "id": f"scenario-{number + 1}",
        "title": scenario.title,
        "facts": facts(scenario),
        "headline": headline(scenario),
        "stopped": _stopped(scenario),
        "legend": [(i, m.name, swatch(look)) for i, (m, look) in enumerate(zip(scenario.methods, looks, strict=True))],
        "accuracy": _lines(scenario, looks, lambda r: r.accuracy, "Test accuracy by round", scenario.target),
        "rounds": _dots(scenario, looks, "round", lambda r: float(r.index)),
        "times": _times(scenario, looks),
        "target": "" if scenario.target is None else wording.short_percent(scenario.target),
        "calls": [_calls(i, m, scenario.rare_classes) for i, m in enumerate(scenario.methods) if m.runs[0].history],
        "labelled": all("label_counts" in run.clients for run in scenario.runs),
        "rare": ", ".join(map(str, scenario.rare_classes)),
        "coverage": _coverage(scenario),
        "recall": _recall(scenario, looks),
        "lorenz": _lorenz(scenario, looks),
        "spreads": lorenz.spreads(scenario.methods, looks),
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


def _lines(
    scenario: Scenario,
    looks: list[Style],
    read: Callable[[RoundRecord], float | None],
    title: str,
    target: float | None = None,
) -> Chart | None:
    found = curves(scenario.methods, looks, read)
    if not found:
        return None
    wide, narrow = line_chart(found, title, True, target), line_chart(found, title, False, target)
    return Chart(wide, narrow, tip_data(found), _band_note(found))


def _band_note(found: Sequence[Curve]) -> str:
    seeds = max(curve.seeds for curve in found)
    said = f"Line: mean over seeds. Band: lowest to highest of {seeds} seeds." if seeds > 1 else "One seed; no band."
    return said + (" Not every evaluation is drawn." if any(c.thinned for c in found) else "")


def _recall(scenario: Scenario, looks: list[Style]) -> Chart | None:
    if not scenario.rare_classes:
        return None
    return _lines(scenario, looks, recall_of(scenario.rare_classes), "Recall on rare classes by round")


def _dots(
    scenario: Scenario,
    looks: list[Style],
    unit: str,
    read: Callable[[RoundRecord], float],
) -> Chart | None:
    if scenario.target is None:
        return None
    rows = []
    for i, (method, look) in enumerate(zip(scenario.methods, looks, strict=True)):
        hits = {seed_of(run): measures.reached(run, scenario.target) for run in method.runs if run.history}
        got = {seed: read(hit) for seed, hit in hits.items() if hit is not None}
        missed = tuple(seed for seed, hit in hits.items() if hit is None)
        if hits:
            mean = float(np.mean(list(got.values()))) if got and not missed else None
            rows.append(DotRow(i, method.name, look, got, missed, mean))
    if not rows:
        return None
    rows.sort(key=lambda row: (len(row.missed) / (len(row.missed) + len(row.reached)), row.mean or 0.0))
    title = f"Runs by the {unit} in which they reached the target"
    return Chart(dot_plot(rows, title, True, unit), dot_plot(rows, title, False, unit))


def _times(scenario: Scenario, looks: list[Style]) -> Chart | None:
    """Only where a clock was running."""
    longest = max((measures.simulated_seconds(run) or 0.0 for run in scenario.runs), default=0.0)
    if not longest:
        return None
    length, unit = next(
        (n, word) for n, word in ((3600, "hour"), (60, "minute"), (1, "second")) if longest > 2 * n or n == 1
    )
    return _dots(scenario, looks, f"simulated {unit}s", lambda r: r.clock / length)


def _calls(i: int, method: Method, rare: Sequence[int]) -> Panel:
    run = method.runs[0]
    counts = measures.calls(run)
    people = raster.roster(run.clients, rare)
    said = f"{int((counts > 0).sum())} of {len(counts)} clients called"
    special = people.order[people.maverick]
    if len(special) and counts.any():
        share, even = counts[special].sum() / counts.sum(), len(special) / len(counts)
        said += f"; Mavericks {wording.percent(share)} of calls (even share {wording.percent(even)})"
    title = f"Clients called by {method.name} in each round, seed {seed_of(run)}"
    return Panel(i, method.name, raster.raster(run, rare, title), said)


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


def _lorenz(scenario: Scenario, looks: list[Style]) -> Markup | None:
    found = lorenz.spreads(scenario.methods, looks)
    return lorenz.lorenz_chart(found, "Share of calls by share of clients") if found else None
