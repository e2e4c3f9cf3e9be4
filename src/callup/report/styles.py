"""How each method looks: a colour, a line style and a marker, so that no one depends on colour alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from callup.report.grouping import Method

# After Okabe and Ito's palette, shifted so that each keeps a contrast of 3:1 on its page and all stay well apart to
# those who see no red or no green: (on a light page, on a dark page).
PALETTE = (
    ("#1b70d1", "#2a8cee"),  # blue
    ("#bc4300", "#d45d00"),  # vermillion
    ("#009d72", "#009f74"),  # bluish green
    ("#c875a4", "#d183b1"),  # reddish purple
    ("#c88400", "#e49e00"),  # orange
    ("#1b9cda", "#5bb4e7"),  # sky blue
    ("#6a3d98", "#8b59b6"),  # violet, in place of yellow, which is lost on white
)
NEUTRAL = len(PALETTE)
"""The baseline and references are grey: colour is for what is being compared with them."""
GREY = ("#636b74", "#6e767f")
PAGE = ("#ffffff", "#13161b")

DASHES = ("", "7 3", "2 2.5", "9 3 2 3", "12 4")
MARKERS = ("circle", "square", "triangle", "diamond", "cross", "plus", "down")


@dataclass(frozen=True)
class Style:
    """`colour` is a number; the page turns it into the light or the dark shade."""

    colour: int
    dash: str
    marker: str


def styles(methods: Sequence[Method]) -> list[Style]:
    """One style for each method; no two alike below 35 methods."""
    out: list[Style] = []
    coloured = 0
    for method in methods:
        if method.is_baseline:
            out.append(Style(NEUTRAL, "3 3", "circle"))
        elif method.takes_everyone:
            out.append(Style(NEUTRAL, "", "square"))
        else:
            out.append(style(coloured))
            coloured += 1
    return out


def style(i: int) -> Style:
    """The i-th coloured style; colour and dash come round at different times."""
    n = len(PALETTE)
    return Style(i % n, DASHES[(i + i // n) % len(DASHES)], MARKERS[(i + i // n) % len(MARKERS)])
