"""`callup report RUN`: the page that tells what came of a run or a race."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from callup.cli.options import AsFormat, Format, Open
from callup.cli.terminal import print_json, suggest_next
from callup.core.errors import UsageError


def report(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run, or of several such as a race.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="The file.", show_default="report.html in the folder")
    ] = None,
    open: Open = False,
    format: AsFormat = Format.table,
) -> None:
    """Write the report of a run or a race as one HTML file."""
    from callup.cli.folders import read_runs
    from callup.cli.pages import open_page, write_page
    from callup.cli.summary import print_summary, rows_for_json

    if out is not None and out.is_dir():
        raise UsageError(f"--out {out} is a folder; name a file such as {out / 'report.html'}")
    runs, command = read_runs(folder)
    page = write_page(folder, runs, command, out)
    if format is Format.json:
        print_json({"success": True, "report": str(page), **rows_for_json(runs)})
    else:
        print_summary(runs)
        print(page)
        suggest_next(*(() if open else (f"callup report {folder} --open",)), "callup list")
    if open:
        open_page(page)
