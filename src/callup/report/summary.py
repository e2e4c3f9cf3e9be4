"""The summary table of one scenario: what is shown in each cell, what it sorts by, and what is set in bold."""

from __future__ import annotations

from dataclasses import dataclass

from callup.report import contest, wording
from callup.report.grouping import Scenario
from callup.report.statistics import FEWEST
from callup.report.tables import Row

WORST = 1e300  # what is not known sorts last


@dataclass(frozen=True)
class Cell:
    """Text, the number it sorts by, and whether it is as good as the best."""

    shown: str
    sort: float | str
    bold: bool = False


@dataclass(frozen=True)
class Line:
    """One method."""

    method: int
    name: str
    reference: bool
    cells: list[Cell]


def columns(scenario: Scenario) -> list[str]:
    goal = "" if scenario.target is None else f" to {wording.short_percent(scenario.target)}"
    return ["Final accuracy", f"Rounds{goal}", "Mean QCID", "Jain index", "Simulated time", "Sent"]


def lines(scenario: Scenario, rows: list[Row]) -> list[Line]:
    """One line for each method, from the method rows of the summary."""
    bold = {measure.key: contest.as_good_as_best(scenario, measure) for measure in contest.MEASURES}
    by_name = {row["method"]: row for row in rows if row["level"] == "method" and row["scenario"] == scenario.title}
    return [
        Line(i, method.name, method.takes_everyone, _cells(by_name[method.name], bold))
        for i, method in enumerate(scenario.methods)
    ]


def note(scenario: Scenario) -> str:
    """What bold means here."""
    if max(len(method.runs) for method in scenario.methods) < FEWEST:
        return f"With fewer than {FEWEST} seeds no difference can be told from noise, so nothing is set in bold."
    return (
        "Bold: the best, and all that a paired bootstrap over seeds cannot tell from it at 95\u202f%, "
        "each column on its own and without correction for comparing several methods; the noisier a method, the harder "
        "it is to tell apart."
    )


def _cells(row: Row, bold: dict[str, set[str]]) -> list[Cell]:
    def cell(key: str, shown: str, worst: float = WORST) -> Cell:
        value = row[key]
        return Cell(shown, worst if value is None else float(value), row["method"] in bold.get(key, ()))

    std = row["final_accuracy_std"]
    final = wording.percent(row["final_accuracy"]) + ("" if std is None else f" ± {100 * std:.1f}")
    qcid = wording.NONE if row["mean_qcid"] is None else f"{row['mean_qcid']:.4f}"
    jain = wording.NONE if row["jain"] is None else f"{row['jain']:.3f}"
    rounds = Cell(_rounds(row), _or(row["rounds_at_least"], WORST), row["method"] in bold["rounds_to_target"])
    return [
        cell("final_accuracy", final, -WORST),
        rounds,
        cell("mean_qcid", qcid),
        cell("jain", jain, -WORST),
        cell("simulated_seconds", wording.seconds(row["simulated_seconds"])),
        cell("bytes", wording.size(row["bytes"])),
    ]


def _rounds(row: Row) -> str:
    if row["target"] is None or row["rounds_at_least"] is None:
        return wording.NONE
    if row["rounds_to_target"] is not None:
        return f"{row['rounds_to_target']:.1f}"
    if row["reached"] == 0:
        return "not reached"
    return f"≥ {row['rounds_at_least']:.1f} ({row['reached']} of {row['seeds']})"


def _or(value: float | None, other: float) -> float:
    return other if value is None else float(value)
