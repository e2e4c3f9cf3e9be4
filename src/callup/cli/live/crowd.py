"""The clients of a run as a block of marks that light up when their client is called."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from callup.cli.live.board import NEVER, Lane
from callup.cli.terminal import clean

# Okabe and Ito's colours, which colour-blind people can tell apart, and some that stay clear of them.
PALETTE = (
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#F0E442",
    "#3A86C8",
    "#D55E00",
    "#CC79A7",
    "#BBBBBB",
    "#44AA99",
    "#AA6699",
)
NOW, JUST, EARLIER, NEVER_YET = "■", "▪", "•", "·"
"""A crowd starts grey and gains colour as its clients are called."""
_GAP, _NARROWEST, _TALLEST = 4, 24, 10


def crowds(lanes: Sequence[Lane], width: int, height: int) -> tuple[list[RenderableType], int]:
    """Blocks side by side, as many as fit, and the lines they take; none where there is no room."""
    rows = min(height - 3, _TALLEST)  # a heading, the legend and a blank line
    if not lanes or rows < 1:
        return [], 0
    shown = lanes[: max(1, (width + _GAP) // (_NARROWEST + _GAP))]
    columns = ((width + _GAP) // len(shown) - _GAP) // 2
    shapes = [_shape(len(lane.classes), columns, rows) for lane in shown]
    table = Table.grid(padding=(0, _GAP, 0, 0))
    for _ in shown:
        table.add_column(no_wrap=True)
    table.add_row(*(_heading(lane, 2 * columns) for lane in shown))
    table.add_row(*(_block(lane, *shape) for lane, shape in zip(shown, shapes, strict=True)))
    return [table, _legend(shown, shapes), Text()], max(r for _, r in shapes) + 3


def _shape(clients: int, columns: int, rows: int) -> tuple[int, int]:
    """Columns and rows: as few rows as will do, filled evenly; a line of more than 50 is no crowd."""
    columns = min(columns, 50)
    needed = math.ceil(clients / columns)
    if needed > rows:
        return columns, rows
    return math.ceil(clients / needed), needed


def _heading(lane: Lane, width: int) -> Text:
    text = Text(clean(lane.cell.settings.selector), "bold", no_wrap=True, overflow="ellipsis")
    text.append(f"  seed {lane.cell.settings.seed}, round {lane.done}", "not bold dim")
    text.truncate(width, overflow="ellipsis")
    return text


def _block(lane: Lane, columns: int, rows: int) -> Text:
    """One mark for each client, by main class; in a federation too large for the space, one mark for several."""
    clients = len(lane.classes)
    marks = min(clients, columns * rows)
    order = np.argsort(lane.classes, kind="stable")
    places = np.arange(marks + 1) * clients // marks
    latest = np.maximum.reduceat(lane.called[order], places[:-1])
    colours = lane.classes[order][places[:-1]] % len(PALETTE)
    text = Text(no_wrap=True)
    for mark in range(marks):
        text.append(*_mark(lane.done - int(latest[mark]), int(latest[mark]) == NEVER, PALETTE[colours[mark]]))
        text.append("\n" if mark % columns == columns - 1 else " ")
    text.rstrip()
    return text


def _mark(ago: int, never: bool, colour: str) -> tuple[str, str]:
    if never:
        return NEVER_YET, "bright_black"
    if ago == 0:
        return NOW, f"bold {colour}"
    return (JUST, colour) if ago == 1 else (EARLIER, f"dim {colour}")


def _legend(lanes: Sequence[Lane], shapes: Sequence[tuple[int, int]]) -> Text:
    columns, rows = shapes[0]
    each = math.ceil(len(lanes[0].classes) / (columns * rows))
    words = f"{NOW} called now  {JUST} last round  {EARLIER} earlier  {NEVER_YET} never   colour: main class"
    if each > 1:
        words = f"{words}   one mark: about {each} clients"
    return Text(words, "dim", no_wrap=True, overflow="ellipsis")
