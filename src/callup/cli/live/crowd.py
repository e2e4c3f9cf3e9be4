"""The clients of a run as a block of marks that light up when their client is called."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from callup.cli.live.canvas import Line, Word, beside, cut
from callup.cli.live.lanes import NEVER, Lane
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
_GAP, _NARROWEST, _TALLEST, _LONGEST = 4, 24, 10, 50


def crowds(lanes: Sequence[Lane], width: int, height: int) -> list[Line]:
    """Blocks side by side, as many as fit, with a legend and a blank line below; nothing where there is no room."""
    rows = min(height - 3, _TALLEST)
    if not lanes or rows < 1:
        return []
    shown = lanes[: max(1, (width + _GAP) // (_NARROWEST + _GAP))]
    columns = ((width + _GAP) // len(shown) - _GAP) // 2
    shapes = [_shape(len(lane.classes), columns, rows) for lane in shown]
    blocks = [[_heading(lane, 2 * columns), *_marks(lane, *shape)] for lane, shape in zip(shown, shapes, strict=True)]
    return [*beside(blocks, _GAP), _legend(len(shown[0].classes), shapes[0]), []]


def _shape(clients: int, columns: int, rows: int) -> tuple[int, int]:
    """Columns and rows, filled evenly: about four times as many columns as rows, if they fit, look like a crowd."""
    columns = min(columns, _LONGEST)
    needed = max(math.ceil(clients / columns), round(math.sqrt(clients) / 2))
    if needed > rows:
        return min(columns, math.ceil(clients / rows)), rows
    return math.ceil(clients / needed), needed


def _heading(lane: Lane, width: int) -> Line:
    words = f"  seed {lane.cell.settings.seed}, round {lane.done}"
    name = clean(lane.cell.settings.selector)
    return [(cut(name, max(1, width - len(words))), "bold"), (words, "dim")]


def _marks(lane: Lane, columns: int, rows: int) -> list[Line]:
    """One mark for each client, by main class; in a federation too large for the space, one mark for several."""
    clients = len(lane.classes)
    count = min(clients, columns * rows)
    order = np.argsort(lane.classes, kind="stable")
    first = np.arange(count) * clients // count
    latest = np.maximum.reduceat(lane.called[order], first)
    colours = lane.classes[order][first] % len(PALETTE)
    marks = [_mark(int(when), lane.done, PALETTE[colour]) for when, colour in zip(latest, colours, strict=True)]
    return [marks[start : start + columns] for start in range(0, count, columns)]


def _mark(when: int, now: int, colour: str) -> Word:
    if when == NEVER:
        return f"{NEVER_YET} ", "bright_black"
    if when == now:
        return f"{NOW} ", f"bold {colour}"
    return (f"{JUST} ", colour) if when == now - 1 else (f"{EARLIER} ", f"dim {colour}")


def _legend(clients: int, shape: tuple[int, int]) -> Line:
    words = f"{NOW} called now  {JUST} last round  {EARLIER} earlier  {NEVER_YET} never   colour: main class"
    each = clients / (shape[0] * shape[1])
    return [(words if each <= 1 else f"{words}   a mark: {each:.0f} clients", "dim")]
