"""Writes docs/reproduction.md from the stored results; `--check` only says whether it is up to date."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from callup.experiments.reproduce import verdict
from callup.experiments.reproduce.cells import cells
from callup.experiments.reproduce.finder import find_tables
from callup.experiments.reproduce.progress import duration, estimate
from callup.experiments.reproduce.rows import Row, rows_of
from callup.experiments.reproduce.store import Shelf
from callup.experiments.reproduce.tables import Table
from callup.report.reproduction import VERDICTS, counted

HERE = Path(__file__).parent
PAPERS = HERE.parent / "papers"
PAGE = HERE / "reproduction.md"
_HEAD = """# What holds of the published tables

Made from the stored results in `papers/*/results/` by `docs/reproduction.py`; not written by hand. Every number here
comes back with the command above its table, which runs only the cells that are not stored yet.

A row says at which size it was run. `full` is the paper's own size; anything else is a scaled run, which is judged by
direction alone and is never called a reproduction.
"""


def render() -> str:
    tables = find_tables(PAPERS)
    shelf = Shelf(PAPERS, beside=True)
    rows = {table.address: _rows(table, shelf) for table in tables}
    parts = [_HEAD, *_overview(tables, rows), "## The rule\n", (verdict.__doc__ or "").partition("\n\n")[2].strip(), ""]
    for table in tables:
        parts += _section(table, rows[table.address])
    return "\n".join(parts).rstrip() + "\n"


def _rows(table: Table, shelf: Shelf) -> list[Row]:
    """At the paper's own size where any of it was run, else the small one."""
    done = [rows_of(table, table.scale(scale), shelf.of(table.paper)) for scale in ("paper", "small")]
    trained = any(row.runs and row.scale == "full" for row in done[0])
    needs_training = [row for row in done[1] if row.scale != "full"]
    return done[0] if trained and not any(row.runs for row in needs_training) else done[1]


def _overview(tables: Sequence[Table], rows: dict[str, list[Row]]) -> Iterator[str]:
    yield "| paper | rows printed | " + " | ".join(VERDICTS) + " |"
    yield "|---|---|" + "---|" * len(VERDICTS)
    for paper in dict.fromkeys(table.paper for table in tables):
        own = [table for table in tables if table.paper == paper]
        counts = counted([row.plain() for table in own for row in rows[table.address]])
        printed = sum(len(table.published) for table in own)
        yield f"| [{paper}](../papers/{paper}/README.md) | {printed} | " + " | ".join(map(str, counts.values())) + " |"
    yield "\nReadings of one printed row are judged one by one, and claims about pictures count too.\n"


def _section(table: Table, rows: list[Row]) -> Iterator[str]:
    yield f"\n## {table.address}\n\n{table.title}.\n"
    run = [row for row in rows if row.runs or row.verdict == "contradicts itself"]
    if not run:
        reasons = sorted({row.why for row in rows})
        yield f"Not attempted: {'; '.join(reasons)}. {_price(table)}"
        return
    trained = any(row.runs and row.scale != "full" for row in run)
    yield f"    callup reproduce {table.address} --scale {'small' if trained else 'check'}\n"
    yield "| measure | environment | method | size | published | ours | n | verdict |"
    yield "|---|---|---|---|---|---|---|---|"
    notes = list(dict.fromkeys(row.scale for row in run if row.scale != "full"))
    for row in run:
        method = f"{row.method} ({row.reading})" if row.reading else row.method
        said = f"**{row.verdict}**" + (f": {row.why}" if row.why else "")
        size = row.scale if row.scale == "full" else f"scaled [{notes.index(row.scale) + 1}]"
        cells = (row.measure, row.environment, method, size, row.published, row.ours, str(row.runs), said)
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
    if notes:
        yield "\nSize: " + "; ".join(f"[{number}] {note}" for number, note in enumerate(notes, 1)) + "."
    left = len(rows) - len(run)
    if left:
        yield f"\n{left} more {'row is' if left == 1 else 'rows are'} not attempted yet. {_price(table)}"
    for finding in table.findings:
        yield f"\n{finding}"


def _price(table: Table) -> str:
    """What it would take, from the rounds and what one took when the settings were written."""
    small, paper = (duration(estimate(cells(table, table.scale(scale)), 2)) for scale in ("small", "paper"))
    return f"On two cores `--scale small` takes about {small} in all and `--scale paper` about {paper}."


if __name__ == "__main__":
    from made_page import main  # beside this file, and found only when this one is run

    sys.exit(main(PAGE, render))
