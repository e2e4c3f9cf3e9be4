"""`callup cite fed-cbs runs/race`: the papers of methods, or of all that a race ran, as BibTeX."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from callup.cli import completion
from callup.cli.options import AsFormat, Format
from callup.cli.terminal import print_json, say


def cite(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[METHOD|RUNS]...",
            help="Nothing: every paper there is a method of.",
            autocompletion=completion.selectors,
        ),
    ] = None,
    format: AsFormat = Format.table,
) -> None:
    """Print the papers of methods, or of a race, as BibTeX."""
    from callup.references import cited, references

    methods = [name for one in what or () for name in (_in_runs(Path(one)) if Path(one).is_dir() else [_named(one)])]
    found = cited(methods) if what else list(references())
    if format is Format.json:
        entries = [{"key": one.key, "methods": sorted(one.methods), "bibtex": one.bibtex} for one in found]
        print_json({"success": True, "references": entries})
        return
    print("\n\n".join(one.bibtex for one in found))
    for name in dict.fromkeys(methods):
        if not cited([name]):
            say(f"no paper is known for {name}")


def _named(spec: str) -> str:
    from callup.core.catalogue import AVERAGES, FILTERS, SELECTORS
    from callup.core.errors import UsageError, suggest
    from callup.core.spec import parse_spec

    name = parse_spec(spec)[0]
    known = [card.name for registry in (SELECTORS, FILTERS, AVERAGES) for card in registry.cards()]
    if name not in known:
        raise UsageError(f"no method and no folder is called '{name}'{suggest(name, known)}")
    return name


def _in_runs(folder: Path) -> list[str]:
    """Whatever the runs of a folder were made with: how they select, filter and average."""
    from callup.cli.folders import read_runs
    from callup.core.spec import parse_spec

    kinds = ("selector", "filter", "average")
    specs = [run.settings.get(kind) for run in read_runs(folder)[0] for kind in kinds]
    return list(dict.fromkeys(parse_spec(str(spec))[0] for spec in specs if spec))
