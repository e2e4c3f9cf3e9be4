"""`callup list`: what there is to choose from."""

from __future__ import annotations

from typing import Annotated

import typer

from callup.cli import completion
from callup.cli.options import AsFormat, Format
from callup.cli.terminal import print_json, results, suggest_next

_NEXT = {"selectors": "callup show lineup", "signals": "callup show label_counts"}


def list_methods(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="selectors, partitions, tasks, averages, filters, availability, latency, faults, adversaries or "
            "signals.",
            autocompletion=completion.kinds,
        ),
    ] = "selectors",
    format: AsFormat = Format.table,
) -> None:
    """List selectors, partitions, tasks and more."""
    from callup.cli.card_table import card_table
    from callup.cli.cards import cards_of

    cards = cards_of(kind)
    if format is Format.json:
        print_json({"success": True, "kind": kind, "cards": cards})
        return
    console = results()
    console.print(card_table(kind, cards) if cards else f"there are no {kind} yet", width=min(console.width, 120))
    suggest_next(_NEXT.get(kind, f"callup show {cards[0]['name']}" if cards else "callup list"))
