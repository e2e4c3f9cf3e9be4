"""`callup show NAME`: one method on one page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from callup.cli.options import AsFormat, Format
from callup.cli.terminal import print_json, results, suggest_next
from callup.core.errors import UsageError, suggest

if TYPE_CHECKING:
    from rich.console import Console

KIND_WORDS = {
    "selectors": "selector",
    "partitions": "partition",
    "tasks": "task",
    "averages": "average",
    "filters": "filter",
    "availability": "availability",
    "latency": "latency",
    "signals": "signal",
}
_NEXT = {"selectors": "callup race random {name}", "signals": "callup list signals"}


def show(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A selector, or the name of anything else that `callup list` knows.")
    ],
    format: AsFormat = Format.table,
) -> None:
    """Explain one method on one page."""
    found = _find(name)
    if format is Format.json:
        print_json({"success": True, "cards": found})
        return
    console = results()
    for number, card in enumerate(found):
        if number:
            console.print()
        _print_page(console, card)
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


def _print_page(console: Console, card: dict[str, Any]) -> None:
    from rich.padding import Padding
    from rich.text import Text

    heading = Text(card["name"], "bold")
    heading.append(f"  {KIND_WORDS[card['kind']]}", "dim")
    if card.get("paper"):
        heading.append(f"  {card['paper']}", "dim")
    console.print(heading)
    for title, lines in _sections(card):
        console.print()
        if title:
            console.print(Text(title, "bold cyan"))
        for line in lines:
            console.print(Padding(Text(line), (0, 0, 0, 2)))


def _sections(card: dict[str, Any]) -> list[tuple[str, list[str]]]:
    from callup.cli.cards import SIGNAL_KIND, WHEN

    if card["kind"] == SIGNAL_KIND:
        return [
            ("", [card["summary"]]),
            ("Known", [WHEN[time] for time in card["times"]]),
            ("Shape", [card["shape"]]),
            ("Costs the client", [card["cost"]]),
            ("Reveals", card["reveals"]),
        ]
    sections = [("", _paragraphs(card["idea"]))]
    if card["parameters"]:
        sections.append(("Parameters", _aligned(card["parameters"])))
    if card["presets"]:
        sections.append(("Presets", [_preset(card["name"], *item) for item in card["presets"].items()]))
    if card["kind"] == "selectors":
        sections.append(("Asks of clients", _asks(card)))
        sections.append(("Reveals", card["reveals"] or ["nothing"]))
    if card["cost"]:
        sections.append(("Work at the server, a round", [card["cost"]]))
    if card["max_clients"] is not None:
        sections.append(("Largest federation", [f"{card['max_clients']:,} clients"]))
    if card["differs"]:
        sections.append(("Differs from the paper", _paragraphs(card["differs"])))
    return sections


def _paragraphs(text: str) -> list[str]:
    """Docstring paragraphs joined for wrapping; lines that are indented further, such as formulas, stay as they are."""
    out: list[str] = []
    for paragraph in text.split("\n\n"):
        lines = paragraph.split("\n")
        joined: list[str] = []
        for line in lines:
            if joined and not line.startswith(" ") and not joined[-1].startswith(" "):
                joined[-1] += f" {line}"
            else:
                joined.append(line)
        out += [*([""] if out else []), *joined]
    return out


def _aligned(parameters: list[dict[str, Any]]) -> list[str]:
    left = [f"{p['name']} = {p['default']}" for p in parameters]
    width = max(map(len, left))
    return [f"{words:<{width}}  {p['kind']}" for words, p in zip(left, parameters, strict=True)]


def _preset(name: str, preset: str, values: dict[str, Any]) -> str:
    return f"{name}:{preset}  " + ", ".join(f"{key} = {value}" for key, value in values.items())


def _asks(card: dict[str, Any]) -> list[str]:
    from callup.cli.cards import WHEN

    lines = [
        f"{ask['signal']}: {ask['meaning']}; {WHEN[ask['time']]}"
        + (f" ({ask['cost']})" if ask["cost"] != "none" else "")
        for ask in card["asks"]
    ]
    if any("|" in need for need in card["needs"]):
        lines.append("written " + ", ".join(card["needs"]) + "; | means either will do, ? means only if it is there")
    return lines or ["nothing"]
