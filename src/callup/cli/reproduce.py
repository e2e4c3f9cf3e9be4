"""`callup reproduce`: the published number, ours, and a verdict."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from callup.cli.failures import INTERRUPTED
from callup.cli.options import AsFormat, Format
from callup.cli.terminal import print_json, say, suggest_next

if TYPE_CHECKING:
    from callup.experiments.reproduce.rows import Row
    from callup.experiments.reproduce.tables import Table


class Size(StrEnum):
    """How much is run."""

    check = "check"
    small = "small"
    paper = "paper"


def reproduce(
    context: typer.Context,
    tables: Annotated[
        list[str] | None,
        typer.Argument(metavar="PAPER[/TABLE]", help="E.g. fed-cbs or fed-cbs/table-3; all if none. Or: tournament."),
    ] = None,
    scale: Annotated[
        Size,
        typer.Option(help="check: rows that need no training, minutes. small: hours. paper: the paper's own size."),
    ] = Size.check,
    list_them: Annotated[bool, typer.Option("--list", help="List the tables and stop.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be run and how long it takes.")] = False,
    stored: Annotated[bool, typer.Option("--stored", help="Run nothing: show what is stored already.")] = False,
    jobs: Annotated[int | None, typer.Option(help="Runs at a time.", show_default="one for each core")] = None,
    out: Annotated[Path, typer.Option(help="Where report.html, rows.csv and tables.tex go.")] = Path("runs/reproduce"),
    papers: Annotated[
        Path | None, typer.Option(help="The folder of the papers.", show_default="papers in the checkout")
    ] = None,
    results: Annotated[
        Path | None, typer.Option(help="Where finished cells are kept.", show_default="results beside each paper")
    ] = None,
    format: AsFormat = Format.table,
) -> None:
    """Run published tables again and say what holds."""
    from callup.cli.reproduce_view import print_list, print_rows
    from callup.core.types import check_k
    from callup.experiments.reproduce.finder import find_tables, papers_folder
    from callup.experiments.reproduce.progress import duration, estimate, open_cells
    from callup.experiments.reproduce.rows import rows_of
    from callup.experiments.reproduce.store import Shelf
    from callup.experiments.tournament.entry import is_tournament

    at_a_time = (os.cpu_count() or 1) if jobs is None else check_k(jobs, "--jobs")
    folder = papers_folder(papers)
    shelf = Shelf(results or folder, beside=results is None)
    if tables and is_tournament(tables):
        from callup.cli.tournament import Task, show_tournament

        asked = Task(tables, scale, at_a_time, list_them, dry_run, stored, out, format is Format.json)
        show_tournament(asked, folder, shelf)
        return
    found = find_tables(folder, tables or [])
    todo = open_cells(found, scale, shelf.of)
    if list_them:
        print_list(found, scale, shelf, format is Format.json)
        return
    if dry_run:
        time = estimate([cell for _, cell in todo], at_a_time)
        if format is Format.json:
            print_json({"success": True, "cells": len(todo), "seconds": round(time)})
        else:
            print(
                f"{len(todo)} cells to run on {at_a_time} cores: about {duration(time)}"
                if todo
                else "nothing left to run"
            )
        return
    # As anybody would type it: folders of this machine are not part of how a result was made.
    made_by = " ".join(["callup reproduce", *(tables or []), f"--scale {scale.value}"])
    failures = [] if stored else run_cells(todo, at_a_time, shelf, made_by)
    rows = [row for table in found for row in rows_of(table, table.scale(scale), shelf.of(table.paper))]
    files = _write(out, rows, found, context.obj.command)
    if format is Format.json:
        print_json(_document(rows, files, failures))
    else:
        print_rows(rows, found)
        print(files[0])
        suggest_next(f"callup reproduce --scale {'small' if scale is Size.check else 'paper'} --dry-run")
    for failure in failures[1:]:
        say(f"error: {failure}")
    if failures:
        raise failures[0]


def run_cells(todo: Any, jobs: int, shelf: Any, command: str) -> list[Any]:
    """Runs what is left, given as pairs of where it belongs and the cell. A cell that fails by a mistake in settings or
    data stops no other and is told at the end."""
    from callup.core.errors import CallupError
    from callup.experiments.reproduce.pool import work
    from callup.experiments.reproduce.progress import Clock, duration

    if not todo:
        return []
    owner = {id(cell): table for table, cell in todo}
    clock = Clock([cell for _, cell in todo], jobs)
    failures: dict[str, CallupError] = {}
    try:
        for cell, done in work([cell for _, cell in todo], jobs):
            table = owner[id(cell)]
            clock.tick(cell)
            name = f"{table.address} {cell.settings.partition} {cell.settings.selector} seed {cell.settings.seed}"
            if isinstance(done, CallupError):
                failures.setdefault(str(done), done)
                continue
            shelf.of(table.paper).add(table.name, cell, done, command)
            left = duration(clock.left())
            say(f"{clock.finished}/{clock.total} cells, {left} left: {name} ({done.seconds:.0f} s)")
    except KeyboardInterrupt:
        say(f"stopped with {clock.finished} of {clock.total} cells done; the same command goes on from there")
        raise typer.Exit(INTERRUPTED) from None
    return list(failures.values())


def _write(out: Path, rows: list[Row], found: list[Table], command: str) -> list[Path]:
    from callup.report.reproduction import write_reproduction

    titles = {table.address: table.title for table in found}
    return write_reproduction(out, [row.plain() for row in rows], titles, command)


def _document(rows: list[Row], files: list[Path], failures: list[Any]) -> dict[str, Any]:
    from callup.report.reproduction import counted

    plain = [row.plain() for row in rows]
    return {
        "success": not failures,
        "files": [str(file) for file in files],
        "verdicts": counted(plain),
        "failures": [str(failure) for failure in failures],
        "rows": plain,
    }
