"""`callup new selector NAME`: a file to start from, which runs as it is, and a test for it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from callup.cli.options import AsFormat, Format
from callup.cli.terminal import print_json, suggest_next
from callup.core.errors import InputError, UsageError, suggest

_FOLDER = Path(__file__).parent / "starters"


def new(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="selector.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name, e.g. my-method.")],
    folder: Annotated[Path, typer.Option("--in", metavar="FOLDER", help="Where the files go.")] = Path(),
    format: AsFormat = Format.table,
) -> None:
    """Write a selector to start from, and a test for it."""
    from callup.core.catalogue import SELECTORS

    if what != "selector":
        raise UsageError(f"there is nothing new to make called '{what}'{suggest(what, ['selector'])}")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise UsageError(f"a name is small letters, digits and single dashes, e.g. my-method, got '{name}'")
    if name in {card.name for card in SELECTORS.cards()}:
        raise UsageError(f"there is a selector '{name}' already; callup show {name}")
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}")
    stem, title = name.replace("-", "_"), "".join(part.capitalize() for part in name.split("-"))
    files = {folder / f"{stem}.py": "selector.txt", folder / f"test_{stem}.py": "test_selector.txt"}
    there = [str(path) for path in files if path.exists()]
    if there:
        raise InputError(f"{there[0]} exists already; nothing was written")
    for path, starter in files.items():
        text = (_FOLDER / starter).read_text(encoding="utf-8")
        text = text.replace("NAME", name).replace("STEM", stem).replace("TITLE", title)
        path.write_text(text, encoding="utf-8")
    if format is Format.json:
        print_json({"success": True, "files": [str(path) for path in files]})
        return
    for path in files:
        print(path)
    made = folder / f"{stem}.py"
    suggest_next(f"callup validate {made}", f"callup race random {made} --quick")
