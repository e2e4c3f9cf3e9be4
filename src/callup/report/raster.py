"""Who was called: a client for each row, a round for each column, sorted by the class a client holds most of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from callup.core.clients import Clients
from callup.report.axes import Frame, ticks
from callup.report.png import Colour, data_address, png
from callup.report.svg import drawing, element, path, text
from callup.simulation.run import Run

ROWS, COLUMNS, LEVELS = 240, 360, 8
HEAVY = 150_000  # bytes of pictures in one scenario
MIXED = np.iinfo(np.int64).max
CALLED, MAVERICK = (46, 126, 192), (222, 98, 26)  # both keep a contrast of 3:1 on the light and on the dark page


@dataclass(frozen=True)
class Roster:
    """Clients in the order drawn: by dominant class, then by size of that class, then by id; the mixed ones last."""

    order: np.ndarray
    dominant: np.ndarray | None
    """For each drawn row, MIXED where no class stands out; None when labels are not known."""
    maverick: np.ndarray


def roster(clients: Clients, rare: Sequence[int]) -> Roster:
    """Without label counts the order is that of ids."""
    n = len(clients)
    if "label_counts" not in clients:
        return Roster(np.arange(n), None, np.zeros(n, bool))
    counts = clients.all("label_counts")
    most = counts.max(axis=1)
    # Well over an even share, or the largest of many equal classes would pass for the client's own.
    stands_out = most >= 1.5 * counts.mean(axis=1)
    dominant = np.where(stands_out, counts.argmax(axis=1), MIXED)
    order = np.lexsort((np.arange(n), np.where(stands_out, -most, 0), dominant))
    known = [c for c in rare if c < counts.shape[1]]
    shares = counts[:, known] / np.maximum(counts[:, known].sum(axis=0), 1)
    # A Maverick holds well over an even share of a rare class, alone or with a few others.
    maverick = (shares >= 1.5 / n).any(axis=1)
    return Roster(order, dominant[order], maverick[order])


def images(runs: Sequence[Run], rare: Sequence[int]) -> list[bytes]:
    """One picture for each run; coarser ones where together they would make the page heavy."""
    for shrink in (1, 2, 3, 4):
        out = [png(cells(run, roster(run.clients, rare), shrink), palette()) for run in runs]
        if sum(map(len, out)) <= HEAVY:
            break
    return out


def panel(run: Run, rare: Sequence[int], image: bytes, title: str) -> Markup:
    """A panel of 300 pixels across; many clients or rounds share a cell, darker where more were called."""
    width, height = 300, 216
    frame = Frame(34, 292, 8, height - 26)
    people = roster(run.clients, rare)
    rounds = len(run.history)
    tall, across = frame.bottom - frame.top, frame.right - frame.left
    picture = element(
        "image",
        href=data_address(image),
        x=frame.left,
        y=frame.top,
        width=across,
        height=tall,
        preserveAspectRatio="none",
    )
    below = [
        text(
            (frame.left + across * (r - 0.5) / max(rounds, 1), frame.bottom + 15),
            int(r),
            class_="tick",
            text_anchor="middle",
        )
        for r in ticks(1, max(rounds, 1), 4)
        if r == int(r) and r >= 1
    ]
    name = text((frame.right, frame.bottom + 15), "round", class_="name", text_anchor="end")
    return drawing(
        width, height, title, *_classes(people, frame), picture, _mavericks(people, frame), *below[:-1], name
    )


def cells(run: Run, people: Roster, shrink: int = 1) -> np.ndarray:
    """Entry 0 for never called; 1..LEVELS for the share of calls in the cell, Mavericks LEVELS further on."""
    n, rounds = len(people.order), max(len(run.history), 1)
    row_of = np.empty(n, np.intp)
    row_of[people.order] = np.arange(n)
    # A Maverick keeps its own colour, so it gets a line of its own when lines are shared.
    height, width = min(n, ROWS // shrink), min(rounds, COLUMNS // shrink)
    line_of, column_of = np.arange(n) * height // n, np.arange(rounds) * width // rounds
    called = np.zeros((height, width))
    for t, record in enumerate(run.history):
        asked = run.clients.index.rows(np.array(record.asked, np.int64))
        np.add.at(called, (line_of[row_of[asked]], column_of[t]), 1.0)
    room = np.outer(np.bincount(line_of, minlength=height), np.bincount(column_of, minlength=width))
    share = called / room
    level = np.ceil(LEVELS * share / max(share.max(), 1e-12)).astype(np.uint8)
    special = np.zeros(height, bool)
    np.logical_or.at(special, line_of, people.maverick)
    return np.asarray(np.where((level > 0) & special[:, None], level + LEVELS, level), np.uint8)


def palette() -> list[Colour]:
    """Transparent for never called, so that the same picture stands on a light and on a dark page."""
    steps = [round(255 * (0.25 + 0.75 * (i + 1) / LEVELS)) for i in range(LEVELS)]
    return [(0, 0, 0, 0), *((*CALLED, a) for a in steps), *((*MAVERICK, a) for a in steps)]


def _classes(people: Roster, frame: Frame) -> list[Markup]:
    """A faint stripe behind every second class, and its number where there is room."""
    tall = frame.bottom - frame.top
    out = [element("rect", x=frame.left, y=frame.top, width=frame.right - frame.left, height=tall, class_="paper")]
    if people.dominant is None:
        return [*out, text((frame.left - 6, frame.top + 10), "client", class_="tick", text_anchor="end")]
    n, below = len(people.order), -100.0
    for stripe, c in enumerate(np.unique(people.dominant)):
        rows = np.flatnonzero(people.dominant == c)
        top, height = frame.top + tall * rows[0] / n, tall * len(rows) / n
        if stripe % 2:
            out.append(
                element("rect", x=frame.left, y=top, width=frame.right - frame.left, height=height, class_="stripe")
            )
        middle = top + height / 2 + 4
        if middle - below >= 11:
            out.append(
                text((frame.left - 6, middle), "mix" if c == MIXED else int(c), class_="tick", text_anchor="end")
            )
            below = middle
    return out


def _mavericks(people: Roster, frame: Frame) -> Markup:
    """A tick at both edges."""
    tall, n = frame.bottom - frame.top, len(people.order)
    places = [frame.top + tall * (row + 0.5) / n for row in np.flatnonzero(people.maverick)]
    ticks_at = "".join(path([(x, y), (x + 4, y)]) for y in places for x in (frame.left - 4, frame.right))
    return element("path", d=ticks_at, class_="maverick") if places else Markup("")
