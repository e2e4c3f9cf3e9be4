"""`callup verify RUN`: computes every selection again and compares it with what the run says it did."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from callup.cli.failures import FAILED
from callup.cli.options import AsFormat, Format
from callup.cli.terminal import clean, print_json, say, suggest_next
from callup.core.errors import InputError


def verify(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run, or of several such as a race.")],
    again: Annotated[
        bool, typer.Option("--again", help="Compute the training again too, not only the selections.")
    ] = False,
    format: AsFormat = Format.table,
) -> None:
    """Check that a run is what its files say: replay the journal and compare every selection."""
    from callup.simulation.verifying import verify_run

    found = sorted(path.parent for path in folder.glob("**/config.toml"))
    if not found:
        raise InputError(f"no run in {folder}; make one with: callup run CONFIG.toml --out {folder}")
    results = [verify_run(path, again) for path in found]
    sound = not any(result.problems for result in results)
    if format is Format.json:
        rows = [
            {
                "run": str(result.folder),
                "rounds": result.rounds,
                "how": result.how,
                "problems": result.problems,
                "notes": result.notes,
            }
            for result in results
        ]
        print_json({"success": sound, "runs": rows})
    else:
        for result in results:
            verdict = "NOT as recorded" if result.problems else "as recorded"
            print(clean(f"{result.folder}: {result.rounds} selections {verdict}, {result.how}"))
            for line in (*result.problems, *result.notes):
                say(clean(f"  {line}"))
    if not sound:
        raise typer.Exit(FAILED)
    if format is Format.table:
        suggest_next(f"callup report {folder}")
