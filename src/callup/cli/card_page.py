"""A card written out as a page for the terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from callup.cli.cards import SIGNAL_KIND, WHEN
from callup.core.catalogue import DEFAULT

_KINDS = {
    "selectors": "selector",
    "partitions": "partition",
    "tasks": "task",
    "averages": "average",
    "filters": "filter",
    "availability": "availability",
    "latency": "latency",
    "faults": "fault",
    "adversaries": "adversary",
    "signals": "signal",
}


def print_page(console: Console, card: dict[str, Any]) -> None:
    """Name, idea and then a section for each thing there is to know."""
    heading = Text(card["name"], "bold")
    heading.append(f"  {_KINDS[card['kind']]}", "dim")
    if card.get("paper"):
        heading.append(f"  {card['paper']}", "dim")
    console.print(heading)
    for title, lines in _sections(card):
        console.print()
        if title:
            console.print(Text(title, "bold cyan"))
        for line in lines:
            console.print(Padding(Text(line), (0, 0, 0, 2), expand=False) if line else "")


def _sections(card: dict[str, Any]) -> list[tuple[str, list[str]]]:
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
        sections.append(("Presets", _presets(card)))
    if card["kind"] == "selectors":
        sections.append(("Asks of clients", _asks(card)))
        sections.append(("Reveals", card["reveals"] or ["nothing"]))
    if card["cost"]:
        sections.append(("Work at the server, a round", [card["cost"]]))
    if card["max_clients"] is not None:
        sections.append(("Largest federation", [f"{card['max_clients']:,} clients"]))
    if card["differs"]:
        sections.append(("Differs from the paper", _paragraphs(card["differs"])))
    sections.append(("Version", [f"{card['version']}, raised when its results change"]))
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


def _presets(card: dict[str, Any]) -> list[str]:
    specs = [f"{card['name']}:{preset}" for preset in card["presets"]]
    names = [f"{spec} (default)" if spec == DEFAULT else spec for spec in specs]
    width = max(map(len, names))
    values = (", ".join(f"{key} = {value}" for key, value in preset.items()) for preset in card["presets"].values())
    return [f"{name:<{width}}  {what}" for name, what in zip(names, values, strict=True)]


def _asks(card: dict[str, Any]) -> list[str]:
    """A line for each signal; alternatives follow the first with an `or`."""
    lines = []
    for need in card["needs"]:
        for number, ask in enumerate(need["any_of"]):
            either = "or " if number else ""
            when = f"{WHEN[ask['time']]}{', if there is one' if need['optional'] else ''}"
            price = "" if ask["cost"] == "none" else f"; costs {ask['cost']}"
            lines.append(f"{either}{ask['signal']} ({when}): {ask['meaning']}{price}")
    return lines or ["nothing"]
