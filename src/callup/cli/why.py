"""`callup why RUN CLIENT`: when a client was there, when it was called, and what spoke for it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from callup.cli.options import AsFormat, Format
from callup.cli.terminal import clean, print_json, results, say, suggest_next

if TYPE_CHECKING:
    from callup.journal.why import Account

_LAST = 15


def why(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run that was journaled.")],
    client: Annotated[int, typer.Argument(metavar="CLIENT", help="Its id.")],
    format: AsFormat = Format.table,
) -> None:
    """Say why a client was called or not: its rounds, and its scores when it was chosen."""
    from callup.journal.why import why as account_of

    told = account_of(folder, client)
    if format is Format.json:
        rows = [dataclasses.asdict(one) for one in told.appearances]
        print_json(
            {
                "success": True,
                "client": told.client,
                "rounds": told.rounds,
                "calls": told.calls,
                "even_share": told.even_share,
                "unexplained": told.unexplained,
                "appearances": rows,
            }
        )
        return
    _print(told)
    suggest_next(f"callup verify {folder}", f"callup report {folder}")


def _print(told: Account) -> None:
    from rich.table import Table

    console = results()
    there = len(told.appearances)
    console.print(
        f"client {told.client}: available in {there} of {told.rounds} rounds, called in {told.calls}; "
        f"drawn evenly it would have been {told.even_share:.1f}"
    )
    if told.unexplained:
        say(clean(f"no scores: {told.unexplained}"))
    names = told.score_names
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("round", "place", "of", "available", *map(clean, names), ""):
        table.add_column(name, justify="right" if name else "left", no_wrap=True)
    for one in told.appearances[-_LAST:]:
        place = "–" if one.place is None else str(one.place)
        scores = (f"{one.scores[name]:.4g}" if name in one.scores else "–" for name in names)
        table.add_row(str(one.index), place, str(one.asked), str(one.available), *scores, clean(one.outcome))
    if there:
        console.print(table)
    if there > _LAST:
        console.print(f"the last {_LAST} of {there}; all of them with --format json")
