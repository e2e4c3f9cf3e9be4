"""What came of the runs: a table and a headline for each scenario, or plain rows for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from callup.cli.terminal import clean, results

if TYPE_CHECKING:
    from rich.table import Table

    from callup.report.grouping import Scenario
    from callup.report.tables import Row
    from callup.simulation.run import Run

_ALL_COLUMNS = 98
"""The width from which time and traffic are shown as well; the report has them anyway."""


def rows_for_json(runs: Sequence[Run]) -> dict[str, Any]:
    """`runs`: one row for each method and seed; `methods`: their means."""
    from callup.report.tables import summarise

    rows = summarise(runs)
    return {
        f"{level}s": [
            {key: value for key, value in row.items() if key != "level"} for row in rows if row["level"] == level
        ]
        for level in ("run", "method")
    }


def print_summary(runs: Sequence[Run]) -> None:
    """One table for each scenario, and under it the sentence to remember."""
    from rich.text import Text

    from callup.report.grouping import scenarios
    from callup.report.headline import headline
    from callup.report.tables import summarise

    console, rows = results(), summarise(runs)
    for scenario in scenarios(runs):
        said = headline(scenario)
        console.print(Text(clean(scenario.title), "bold"))
        shown = [row for row in rows if row["scenario"] == scenario.title]
        console.print(_table(scenario, shown, columns=6 if console.width >= _ALL_COLUMNS else 4))
        console.print(Text(_plain(said.lead), "bold"))
        console.print(Text(_plain(said.detail), "dim"))
        console.print()


def _table(scenario: Scenario, rows: list[Row], columns: int) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from callup.report.summary import columns as headings
    from callup.report.summary import lines

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False, header_style="dim")
    table.add_column("")
    table.add_column("method", no_wrap=True, overflow="ellipsis")
    for heading in headings(scenario)[:columns]:
        table.add_column(_plain(heading).lower().replace("qcid", "QCID").replace("jain", "Jain"), justify="right")
    leader = _leader(scenario, rows)
    for line in lines(scenario, rows):
        star = Text("★", "bold yellow") if line.name == leader else Text()
        cells = (Text(_plain(cell.shown), "bold" if cell.bold else "") for cell in line.cells[:columns])
        table.add_row(star, Text(clean(line.name), "dim" if line.reference else ""), *cells)
    return table


def _leader(scenario: Scenario, rows: list[Row]) -> str | None:
    """As in the headline: the first to the target; where nobody got there, the most accurate."""
    from callup.report.contest import FINAL, ROUNDS, ranking

    reached = {row["method"] for row in rows if row["level"] == "method" and row["reached"]}
    first = [method.name for method in ranking(scenario, ROUNDS) if method.name in reached]
    return next(iter(first or [method.name for method in ranking(scenario, FINAL)]), None)


def _plain(text: str) -> str:
    """The report's narrow spaces as spaces that can be searched for and that every terminal knows."""
    return clean(text.replace("\u202f", " "))
