"""Published, ours and verdict in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from callup.cli.terminal import print_json, results

if TYPE_CHECKING:
    from callup.experiments.reproduce.rows import Row
    from callup.experiments.reproduce.tables import Table

_COLOURS = {
    "reproduced": "green",
    "direction only": "cyan",
    "not reproduced": "red",
    "contradicts itself": "magenta",
    "not attempted": "dim",
}


def print_rows(rows: list[Row], tables: list[Table]) -> None:
    """One table for each of the papers', and the counts under all."""
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    from callup.report.reproduction import counted

    console = results()
    for table in tables:
        own = [row for row in rows if (row.paper, row.table) == (table.paper, table.name)]
        if not own:
            continue
        console.print(Text(f"{table.address}: {table.title}", "bold"))
        grid = Grid(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False)
        for heading in ("environment", "method", "published", "ours", "n", "verdict"):
            grid.add_column(heading, justify="right" if heading in ("published", "ours", "n") else "left")
        measure = ""
        for row in own:
            if row.measure != measure:
                measure = row.measure
                grid.add_row(Text(f"{measure}{', ' + row.unit if row.unit else ''}", "italic"))
            verdict = Text(row.verdict, _COLOURS[row.verdict])
            small = "; ".join(filter(None, (row.why, "" if row.scale == "full" else f"scaled: {row.scale}")))
            if small:
                verdict.append(f"\n{small}", "dim")
            method = Text(row.method)
            if row.reading:
                method.append(f"\n{row.reading}", "dim")
            grid.add_row(row.environment, method, row.published, row.ours, str(row.runs), verdict)
        console.print(grid)
        console.print()
    counts = counted([row.plain() for row in rows])
    console.print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()), style="bold")


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
