"""How each method looks: a colour, a line style and a marker, so that no one depends on colour alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from callup.report.grouping import Method

# After Okabe and Ito's palette, shifted so that each keeps a contrast of 3:1 on its page: (light page, dark page).
PALETTE = (
    ("#0072b2", "#5aaeea"),  # blue
    ("#d55e00", "#ff8a3d"),  # vermillion
    ("#00875f", "#1fc99a"),  # bluish green
    ("#b3478a", "#e7a0cb"),  # reddish purple
    ("#9a7400", "#e8c14a"),  # orange to yellow
    ("#2b95c9", "#a8dcf8"),  # sky blue
    ("#5b3fa0", "#9d86e9"),  # violet, beyond the original eight
)
NEUTRAL = len(PALETTE)
"""The baseline and references are grey: colour is for what is being compared with them."""
GREY = ("#6b7280", "#9aa3af")
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
