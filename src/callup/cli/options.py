"""Options that several commands share, each described once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """How a command prints its result."""

    table = "table"
    json = "json"


class WhenFull(StrEnum):
    """What a full disk does to a run."""

    stop = "stop"
    go_on = "continue"


AsFormat = Annotated[Format, typer.Option("--format", help="A table for people or JSON for programs.")]
Open = Annotated[bool, typer.Option("--open", help="Open the report in the browser.")]
Force = Annotated[bool, typer.Option("--force", help="Replace the runs that are already in --out.")]
WhenFullOption = Annotated[
    WhenFull, typer.Option(help="A full disk ends the run with code 7, or it goes on in memory with warnings.")
]
Verbose = Annotated[bool, typer.Option("--verbose", help="Say which backend trains the models, and why.")]
OutFolder = Annotated[
    Path | None, typer.Option("--out", help="Where the runs go.", show_default="a new folder in runs/")
]
