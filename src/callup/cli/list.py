"""`callup list`: what there is to choose from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from callup.cli.options import AsFormat, Format
from callup.cli.terminal import print_json, results, suggest_next

Column = tuple[str, Callable[[dict[str, Any]], str], int]
"""Heading, what to print, and how much of the width it gets compared with the others."""


def list_methods(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND", help="selectors, partitions, tasks, averages, filters, availability, latency or signals."
        ),
    ] = "selectors",
    format: AsFormat = Format.table,
) -> None:
    """List selectors, partitions, tasks and more."""
    from callup.cli.cards import SIGNAL_KIND, cards_of

    cards = cards_of(kind)
    if format is Format.json:
        print_json({"success": True, "kind": kind, "cards": cards})
        return
    if not cards:
        results().print(f"no {kind} yet")
    elif kind == SIGNAL_KIND:
        _print_table(cards, _SIGNAL_COLUMNS)
    elif kind == "selectors":
        _print_table(cards, _SELECTOR_COLUMNS)
    else:
        _print_table(cards, _OTHER_COLUMNS)
    if cards:
        suggest_next(f"callup show {cards[0]['name'] if kind != 'selectors' else cards[-1]['name']}")


def _largest(card: dict[str, Any]) -> str:
    return "any" if card["max_clients"] is None else f"{card['max_clients']:,}"


def _parameters(card: dict[str, Any]) -> str:
    return ", ".join(f"{p['name']}={p['default']}" for p in card["parameters"]) or "–"


def _needs(card: dict[str, Any]) -> str:
    return ", ".join(need.replace("|", " or ") for need in card["needs"]) or "nothing"


def _reveals(card: dict[str, Any]) -> str:
    return "; ".join(card["reveals"]) or "nothing"


_SELECTOR_COLUMNS: tuple[Column, ...] = (
    ("name", lambda card: card["name"], 0),
    ("idea", lambda card: card["summary"], 8),
    ("needs", _needs, 4),
    ("reveals", _reveals, 6),
    ("cost a round", lambda card: card["cost"], 4),
    ("clients", _largest, 0),
    ("paper", lambda card: card["paper"], 4),
)
_OTHER_COLUMNS: tuple[Column, ...] = (
    ("name", lambda card: card["name"], 0),
    ("idea", lambda card: card["summary"], 5),
    ("parameters", _parameters, 3),
    ("paper", lambda card: card["paper"], 2),
)
_SIGNAL_COLUMNS: tuple[Column, ...] = (
    ("name", lambda card: card["name"], 0),
    ("meaning", lambda card: card["summary"], 4),
    ("known at", lambda card: " or ".join(card["times"]), 0),
    ("reveals", _reveals, 3),
    ("cost", lambda card: card["cost"], 3),
)


def _print_table(cards: list[dict[str, Any]], columns: tuple[Column, ...]) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False, leading=1)
    for heading, read, share in columns:
        if any(read(card) for card in cards):
            table.add_column(heading, ratio=share or None, no_wrap=not share, style="bold" if heading == "name" else "")
    shown = [column for column in columns if any(column[1](card) for card in cards)]
    for card in cards:
        table.add_row(*(read(card) for _, read, _ in shown))
    results().print(table)
