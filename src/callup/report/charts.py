"""The large pictures of a scenario, each drawn for wide and for narrow screens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from callup.report import measures
from callup.report.curves import Curve, curves, recall_of
from callup.report.dots import DotRow, dot_plot
from callup.report.grouping import Scenario, seed_of
from callup.report.lines import line_chart, tip_data
from callup.report.styles import Style
from callup.simulation.run import RoundRecord


@dataclass(frozen=True)
class Chart:
    """The same picture for wide and for narrow screens, and the values shown under the pointer."""

    wide: Markup
    narrow: Markup
    data: dict[str, object] | None = None
    note: str = ""


def lines(
    scenario: Scenario,
    looks: list[Style],
    read: Callable[[RoundRecord], float | None],
    title: str,
    target: float | None = None,
) -> Chart | None:
    """A value over rounds; None when it was never measured."""
    found = curves(scenario.methods, looks, read)
    if not found:
        return None
    wide, narrow = line_chart(found, title, True, target), line_chart(found, title, False, target)
    return Chart(wide, narrow, tip_data(found), _band_note(found))


def _band_note(found: Sequence[Curve]) -> str:
    seeds = max(curve.seeds for curve in found)
    said = f"Line: mean over seeds. Band: lowest to highest of {seeds} seeds." if seeds > 1 else "One seed; no band."
    return said + (" Not every evaluation is drawn." if any(c.thinned for c in found) else "")


def rare_recall(scenario: Scenario, looks: list[Style]) -> Chart | None:
    if not scenario.rare_classes:
        return None
    return lines(scenario, looks, recall_of(scenario.rare_classes), "Recall on rare classes by round")


def dots(
    scenario: Scenario,
    looks: list[Style],
    unit: str,
    read: Callable[[RoundRecord], float],
) -> Chart | None:
    """When each run reached the target, methods that always did first; None when there is no target."""
    if scenario.target is None:
        return None
    rows = []
    for i, (method, look) in enumerate(zip(scenario.methods, looks, strict=True)):
        hits = {seed_of(run): measures.reached(run, scenario.target) for run in method.runs if run.history}
        got = {seed: read(hit) for seed, hit in hits.items() if hit is not None}
        missed = {seed_of(run): len(run.history) for run in method.runs if seed_of(run) in hits.keys() - got.keys()}
        if hits:
            mean = float(np.mean(list(got.values()))) if got and not missed else None
            rows.append(DotRow(i, method.name, look, got, missed, mean))
    if not rows:
        return None
    rows.sort(key=lambda row: (len(row.missed) / (len(row.missed) + len(row.reached)), row.mean or 0.0))
    title = f"Runs by the {unit} in which they reached the target"
    return Chart(dot_plot(rows, title, True, unit), dot_plot(rows, title, False, unit))


def times(scenario: Scenario, looks: list[Style]) -> Chart | None:
    """Only where a clock was running."""
    longest = max((measures.simulated_seconds(run) or 0.0 for run in scenario.runs), default=0.0)
    if not longest:
        return None
    length, unit = next(
        (n, word) for n, word in ((3600, "hour"), (60, "minute"), (1, "second")) if longest > 2 * n or n == 1
    )
    return dots(scenario, looks, f"simulated {unit}s", lambda r: r.clock / length)
