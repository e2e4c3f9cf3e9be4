"""What a finished run tells: tables, pictures and one self-contained page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from callup.simulation.run import Run


def write_report(path: str | Path, runs: Sequence[Run], title: str = "Callup", command: str = "") -> Path:
    """One HTML file with everything in it; opens from disk, needs no network."""
    from callup.report.page import write_report as write  # Jinja is loaded only when a page is made

    return write(path, runs, title=title, command=command)


def summarise(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """The summary as plain rows: one for each method, then one for each of its seeds."""
    from callup.report.tables import summarise as rows

    return rows(runs)
