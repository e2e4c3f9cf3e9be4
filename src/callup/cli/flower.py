"""`callup flower check PATH`: which lines of a Flower app to change."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from callup.cli import completion
from callup.cli.commands import CONTEXT, Command
from callup.cli.options import AsFormat, Format
from callup.cli.terminal import clean, print_json, suggest_next
from callup.core.catalogue import DEFAULT
from callup.core.errors import InputError

app = typer.Typer(
    help="Flower apps with clients chosen by Callup.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=CONTEXT,
)


@app.callback()
def flower() -> None:
    """Flower apps with clients chosen by Callup."""


@app.command("check", cls=Command)
def check(
    folder: Annotated[Path, typer.Argument(metavar="PATH", help="The folder of a Flower app.")],
    selector: Annotated[
        str, typer.Option(help="The method the app shall use.", autocompletion=completion.selectors)
    ] = DEFAULT,
    format: AsFormat = Format.table,
) -> None:
    """Read a Flower app and print the exact lines to change. Nothing of the app is run or changed."""
    from callup.core.catalogue import SELECTORS
    from callup.flower.app_check import check_app

    if not folder.is_dir():
        raise InputError(f"no such folder: {folder}")
    chosen = SELECTORS.make(selector)
    found = check_app(folder, chosen)
    if format is Format.json:
        changes = [
            {"file": str(change.file), "below": change.below, "text": change.text, "why": change.why}
            for change in found.changes
        ]
        told = {"changes": changes, "problems": found.problems, "hints": found.hints}
        print_json({"success": True, "ready": found.ready, **told})
        return
    for problem in found.problems:
        print(clean(problem))
    for change in sorted(found.changes, key=lambda c: (str(c.file), c.below)):
        where = f"{change.file}, below line {change.below}" if change.below else f"{change.file}, at the top"
        print(clean(f"{where}: {change.why}"))
        indent = len(change.text) - len(change.text.lstrip())
        print(f"  + {' ' * indent}{clean(change.text)}")
    for hint in found.hints:
        print(clean(hint))
    if found.ready:
        print(f"{folder} is ready for {chosen.spec}")
        suggest_next(f"flwr run {folder} --stream")
