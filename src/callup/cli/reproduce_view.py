"""Published, ours and verdict in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from callup.cli.terminal import print_json, results

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from callup.experiments.reproduce.rows import Row
    from callup.experiments.reproduce.tables import Table

_COLOURS = {
    "reproduced": "green",
    "direction only": "cyan",
    "not reproduced": "red",
    "contradicts itself": "magenta",
    "not attempted": "dim",
}
_HEADINGS = ("environment", "method", "published", "ours", "n", "size", "verdict")


class _Notes:
    """Sentences under a table; the same sentence has the same number."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def mark(self, *texts: str) -> str:
        numbers = []
        for text in filter(None, texts):
            if text not in self.lines:
                self.lines.append(text)
            numbers.append(str(1 + self.lines.index(text)))
        return f" [{', '.join(numbers)}]" if numbers else ""


def print_rows(rows: list[Row], tables: list[Table]) -> None:
    """One table for each of the papers', its notes, and the counts under all; rows not attempted take one line."""
    from rich.text import Text

    from callup.report.reproduction import counted

    console = results()
    for table in tables:
        own = [row for row in rows if (row.paper, row.table) == (table.paper, table.name)]
        if not own:
            continue
        run = [row for row in own if row.runs or row.verdict != "not attempted"]
        left = [row for row in own if row not in run]
        reasons = "; ".join(dict.fromkeys(row.why for row in left))
        if not run:
            console.print(Text(f"{table.address}: {_rows(left)} not attempted: {reasons}", "dim"))
            continue
        notes = _Notes()
        console.print(Text(f"{table.address}: {table.title}", "bold"))
        console.print(_grid(run, notes))
        for number, line in enumerate(notes.lines, 1):
            console.print(Text(f"[{number}] {line}", "dim"))
        if left:
            console.print(Text(f"{_rows(left)} not attempted: {reasons}", "dim"))
        console.print()
    counts = counted([row.plain() for row in rows])
    console.print(Text(", ".join(f"{count} {verdict}" for verdict, count in counts.items()), "bold"))


def _rows(rows: list[Row]) -> str:
    return "1 row" if len(rows) == 1 else f"{len(rows)} rows"


def _grid(rows: list[Row], notes: _Notes) -> Grid:
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False)
    for heading in _HEADINGS:
        grid.add_column(heading, justify="right" if heading in ("published", "ours", "n") else "left")
    measure = ""
    for row in rows:
        if row.measure != measure:
            measure = row.measure
            grid.add_row(Text(f"{measure}{', ' + row.unit if row.unit else ''}", "italic"))
        size = row.scale if row.scale in ("full", "–") else f"scaled{notes.mark(row.scale)}"
        grid.add_row(
            row.environment,
            f"{row.method}{notes.mark(row.reading)}",
            row.published,
            row.ours,
            str(row.runs),
            size,
            Text(row.verdict, _COLOURS[row.verdict]).append(notes.mark(row.why), "dim"),
        )
    return grid


def print_list(tables: list[Table], scale: str, shelf: Any, as_json: bool) -> None:
    """Every table with its rows and how many of its cells are stored."""
    from callup.experiments.reproduce.cells import cells

    lines = []
    for table in tables:
        wanted = cells(table, table.scale(scale))
        left = len(shelf.of(table.paper).missing(wanted))
        lines.append(
            {
                "table": table.address,
                "title": table.title,
                "rows": len(table.published),
                "cells": len(wanted),
                "stored": len(wanted) - left,
            }
        )
    if as_json:
        print_json({"success": True, "scale": scale, "tables": lines})
        return
    width = max(len(str(line["table"])) for line in lines)
    for line in lines:
        done = f"{line['stored']}/{line['cells']} cells"
        print(f"{line['table']:<{width}}  {line['rows']:>3} rows  {done:>14}  {line['title']}")
