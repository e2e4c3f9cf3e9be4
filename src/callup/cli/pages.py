"""Writing the report, and opening it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from callup.cli.terminal import say

if TYPE_CHECKING:
    from callup.simulation.run import Run

NAME = "report.html"


def write_page(folder: Path, runs: Sequence[Run], command: str, path: Path | None = None) -> Path:
    """The report of these runs, in their folder unless another place is named."""
    from callup.report import write_report

    title = f"Callup: {folder.resolve().name}"
    return write_report(path or folder / NAME, runs, title=title, command=command)


def write_partial(folder: Path, ended: int, planned: int) -> None:
    """Reports on what was done when a race was cut short, and says in one line where."""
    from callup.cli.folders import read_runs
    from callup.core.errors import InputError

    done = f"stopped with {ended} of {planned} runs finished"
    try:
        runs, command = read_runs(folder)
    except InputError:
        say(f"{done}; nothing was measured yet, so there is no report")
        return
    say(f"{done}; partial report: {write_page(folder, runs, command)}")


def open_page(page: Path) -> None:
    import webbrowser

    if not webbrowser.open(page.resolve().as_uri()):
        say(f"no browser was found here; open {page} yourself")
