"""How evenly calls were spread: Lorenz curves, one for each method, against the line of perfect evenness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from callup.analytics import fairness
from callup.report import measures
from callup.report.axes import Frame, ticks, x_axis, y_axis
from callup.report.grouping import Method
from callup.report.styles import Style
from callup.report.svg import drawing, element, line, marker, path, text
from callup.report.wording import short_percent

GRID = np.linspace(0.0, 1.0, 51)


@dataclass(frozen=True)
class Spread:
    """A method's calls, averaged over seeds."""

    method: int
    name: str
    style: Style
    curve: np.ndarray
    """Share of all calls that went to the least called share of clients, at each point of GRID."""
    jain: float
    gini: float
    never: float
    """Share of clients that were never called."""


def spreads(methods: Sequence[Method], looks: Sequence[Style]) -> list[Spread]:
    """Methods that called somebody."""
    out = []
    for i, (method, look) in enumerate(zip(methods, looks, strict=True)):
        counts = [c for c in map(measures.calls, method.runs) if c.any()]
        if counts:
            out.append(
                Spread(
                    i,
                    method.name,
                    look,
                    np.mean([np.interp(GRID, *fairness.lorenz(c)) for c in counts], axis=0),
                    float(np.mean([fairness.jain(c) for c in counts])),
                    float(np.mean([fairness.gini(c) for c in counts])),
                    float(np.mean([np.mean(c == 0) for c in counts])),
                )
            )
    return out


def lorenz_chart(found: Sequence[Spread], title: str) -> Markup:
    """A square; the further a curve hangs below the diagonal, the fewer clients did the work."""
    size = 360
    frame = Frame(46, size - 12, 10, size - 44)
    x, y = frame.x(0, 1), frame.y(0, 1)
    at = ticks(0, 1, 4)
    even = line((x(0), y(0)), (x(1), y(1)), class_="one")
    word = text(
        (x(0.30), y(0.33)), "perfectly even", class_="tick", transform=f"rotate(-45 {x(0.30):.0f} {y(0.33):.0f})"
    )
    parts = [
        y_axis(frame, y, at, short_percent),
        x_axis(frame, x, at, short_percent, "of clients, least called first"),
        text((frame.left + 6, frame.top + 12), "of calls", class_="name"),
        even,
        word,
    ]
    for n, one in enumerate(found):
        points = [(x(a), y(b)) for a, b in zip(GRID, one.curve, strict=True)]
        marks = [marker(one.style.marker, p, 3.2, class_="mark") for p in points[12 + n % 6 :: 12]]
        drawn = element("path", d=path(points), class_="line", stroke_dasharray=one.style.dash)
        parts.append(element("g", drawn, *marks, class_=f"series s{one.style.colour}", data_method=one.method))
    return drawing(size, size, title, *parts)
