"""`callup validate METHOD`: the rules that every selector of Callup keeps, put to yours."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from callup.cli import completion
from callup.cli.failures import FAILED
from callup.cli.options import AsFormat, Format
from callup.cli.terminal import clean, print_json, say, suggest_next


def validate(
    method: Annotated[
        str,
        typer.Argument(
            metavar="METHOD",
            help="my_method.py, or a name such as fed-cbs:scale=2.",
            autocompletion=completion.selectors,
        ),
    ],
    format: AsFormat = Format.table,
) -> None:
    """Put a selector of your own to the rules that every method keeps."""
    from callup.cli.method_files import by_name
    from callup.core.catalogue import SELECTORS

    broken = 0
    rows: list[dict[str, Any]] = []
    for spec in by_name([method]):
        SELECTORS.make(spec)  # a parameter that makes no sense is told once, not by every rule
        for row in _verdicts(spec):
            rows.append(row)
            broken += row["broken"] is not None
            if format is Format.table and row["broken"]:
                print(clean(f"broken  {spec}  {row['rule']}: {row['broken']}"), flush=True)
    if format is Format.json:
        print_json({"success": not broken, "rules": rows})
    elif broken:
        say(f"{broken} of {len(rows)} rules are broken; each says what to look for")
    else:
        print(f"all {len(rows)} rules are kept")
        suggest_next(f"callup race random lineup {method}", f"callup show {by_name([method])[0].partition(':')[0]}")
    if broken:
        raise typer.Exit(FAILED)


def _verdicts(spec: str) -> Iterator[dict[str, Any]]:
    from callup.core.catalogue import SELECTORS
    from callup.testing import selector_checks

    for rule, check in selector_checks:
        began, broken = time.perf_counter(), None
        try:
            check(lambda: SELECTORS.make(spec))
        except AssertionError as failure:
            broken = clean(failure)
        yield {
            "method": spec,
            "rule": rule.replace("_", " "),
            "broken": broken,
            "seconds": round(time.perf_counter() - began, 3),
        }
