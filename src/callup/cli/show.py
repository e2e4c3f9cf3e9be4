"""`callup show NAME`: one method on one page."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from callup.cli import completion
from callup.cli.options import AsFormat, Format
from callup.cli.terminal import print_json, results, suggest_next
from callup.core.errors import UsageError, suggest

_NEXT = {"selectors": "callup race random {name}", "signals": "callup list signals"}


def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="A selector, or the name of anything else that `callup list` knows.",
            autocompletion=completion.cards,
        ),
    ],
    format: AsFormat = Format.table,
) -> None:
    """Explain one method on one page."""
    found = _find(name)
    if format is Format.json:
        print_json({"success": True, "cards": found})
        return
    from callup.cli.card_page import print_page

    console = results()
    for number, card in enumerate(found):
        if number:
            console.print()
        print_page(console, card)
    first = found[0]
    suggest_next(_NEXT.get(first["kind"], f"callup list {first['kind']}").format(name=first["name"]))


def _find(spec: str) -> list[dict[str, Any]]:
    """Every card of this name, selectors first; parameters after a colon are checked and left out."""
    from callup.cli.cards import plain_card, plain_signal, registries
    from callup.core.signals import SIGNALS
    from callup.core.spec import parse_spec

    name = parse_spec(spec)[0]
    catalogues = registries()
    cards = {kind: {card.name: card for card in registry.cards()} for kind, registry in catalogues.items()}
    found = [plain_card(named[name], kind) for kind, named in cards.items() if name in named]
    if found and spec != name:
        catalogues[found[0]["kind"]].make(spec)
    if name in SIGNALS:
        found.append(plain_signal(SIGNALS[name]))
    if not found:
        known = {word for named in cards.values() for word in named} | set(SIGNALS)
        raise UsageError(f"nothing is called '{name}'{_closest(name, list(cards['selectors']), known)}")
    return found


def _closest(name: str, selectors: list[str], known: set[str]) -> str:
    """A suggestion from everything there is; when nothing is close, the selectors alone are listed."""
    end = suggest(name, known)
    if "did you mean" in end:
        return end
    return f"; selectors are {', '.join(selectors)}; see also: callup list partitions"
