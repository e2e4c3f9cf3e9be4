"""Cards side by side: two facts to a column, so that all of them fit a hundred characters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from callup.cli.cards import SIGNAL_KIND

CardData = dict[str, Any]
Fact = Callable[[CardData], str]


def card_table(kind: str, cards: list[CardData]) -> Table:
    """The table of one kind; each cell holds a fact and, dimmed below it, a second one."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False, leading=1, expand=True)
    columns = _SIGNALS if kind == SIGNAL_KIND else _SELECTORS if kind == "selectors" else _OTHERS
    longest = max((len(card["name"]) for card in cards), default=0)
    for i, (heading, share, _, _) in enumerate(columns):
        # A name broken over two lines can be neither copied nor searched for, so its column has a width of its own.
        width, ratio = (max(longest, share), None) if i == 0 else (None, share)
        table.add_column(heading, width=width, ratio=ratio, overflow="fold")
    for card in cards:
        table.add_row(
            *(_cell(upper(card), lower(card), first=i == 0) for i, (_, _, upper, lower) in enumerate(columns))
        )
    return table


def _cell(upper: str, lower: str, first: bool) -> Text:
    text = Text(upper, "bold" if first else "")
    if lower:
        text.append(f"\n{lower}", "not bold dim")
    return text


def _nothing(_: CardData) -> str:
    return ""


def _name(card: CardData) -> str:
    return str(card["name"])


def _paper(card: CardData) -> str:
    return str(card["paper"])


def _summary(card: CardData) -> str:
    return str(card["summary"])


def _cost(card: CardData) -> str:
    return str(card["cost"])


def _clients(card: CardData) -> str:
    return "any N" if card["max_clients"] is None else f"N up to {card['max_clients']:,}"


def _reveals(card: CardData) -> str:
    return f"reveals {'; '.join(card['reveals']) or 'nothing'}"


def _times(card: CardData) -> str:
    return " or ".join(card["times"])


def _parameters(card: CardData) -> str:
    return "\n".join(f"{p['name']}={p['default']}" for p in card["parameters"])


def _needs(card: CardData) -> str:
    return "\n".join(_need(need) for need in card["needs"]) or "nothing"


def _need(need: dict[str, Any]) -> str:
    words = [ask["signal"] + (" by probe" if ask["time"] == "probe" else "") for ask in need["any_of"]]
    return " or ".join(words) + (" if known" if need["optional"] else "")


_SELECTORS: tuple[tuple[str, int, Fact, Fact], ...] = (
    ("name, paper", 22, _name, _paper),
    ("idea", 32, _summary, _nothing),
    ("needs, reveals", 28, _needs, _reveals),
    ("cost a round, scale", 20, _cost, _clients),
)
_OTHERS: tuple[tuple[str, int, Fact, Fact], ...] = (
    ("name, paper", 28, _name, _paper),
    ("idea", 44, _summary, _nothing),
    ("parameters", 22, _parameters, _nothing),
)
_SIGNALS: tuple[tuple[str, int, Fact, Fact], ...] = (
    ("name, when it is known", 20, _name, _times),
    ("meaning, what it reveals", 52, _summary, _reveals),
    ("cost to the client", 24, _cost, _nothing),
)
