"""One dot for each seed, one row for each method; those that never got there stand apart, never left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from callup.report.axes import Frame, apart, ticks, x_axis
from callup.report.lines import LETTER
from callup.report.styles import Style
from callup.report.svg import drawing, element, line, marker, text
from callup.report.wording import number, plural, shortened


@dataclass(frozen=True)
class DotRow:
    """Values reached by seed, and for seeds that did not get there the rounds they had."""

    method: int
    name: str
    style: Style
    reached: dict[int, float]
    missed: dict[int, int]
    mean: float | None
    """None unless every seed got there."""


def dot_plot(rows: Sequence[DotRow], title: str, wide: bool, unit: str) -> Markup:
    """Rows in the order given; the best first."""
    width, row_height = (860, 34) if wide else (360, 46)
    names = max(len(shortened(row.name)) for row in rows) * LETTER + 22 if wide else 14
    lost = 92 if any(row.missed for row in rows) else 0
    frame = Frame(names, width - lost - (64 if wide else 48), 24 if lost else 8, 0)
    bottom = frame.top + row_height * len(rows)
    frame = Frame(frame.left, frame.right, frame.top, bottom)
    values = [v for row in rows for v in row.reached.values()]
    x = frame.x(0, max(values, default=1.0) or 1.0)
    parts = [x_axis(frame, x, ticks(0, x.high, 8 if wide else 4), number, unit)]
    parts += [line((x(v), frame.top), (x(v), bottom), class_="grid") for v in ticks(0, x.high, 8 if wide else 4)]
    if lost:
        middle = width - lost / 2
        parts.append(
            element("rect", x=width - lost, y=frame.top, width=lost, height=bottom - frame.top, class_="apart")
        )
        parts.append(text((middle, frame.top - 8), "not reached", class_="tick", text_anchor="middle"))
    for n, row in enumerate(rows):
        top = frame.top + row_height * n
        at = top + row_height * (0.5 if wide else 0.66)
        label = (names - 12, at + 4) if wide else (2, top + 15)
        drawn = [
            text(label, shortened(row.name), class_="label", text_anchor="end" if wide else None),
            line((frame.left, at), (frame.right, at), class_="row"),
            *_dots(row, x, at, width - lost / 2),
        ]
        parts.append(element("g", *drawn, class_=f"series s{row.style.colour}", data_method=row.method))
    return drawing(width, bottom + 44, title, *parts, class_="wide" if wide else "narrow")


def _dots(row: DotRow, x: Callable[[float], float], at: float, lost: float) -> list[Markup]:
    out = []
    if row.mean is not None:
        out.append(line((x(row.mean), at - 11), (x(row.mean), at + 11), class_="mean"))
        rightmost = max(x(v) for v in row.reached.values())
        out.append(text((rightmost + 12, at + 4), number(row.mean), class_="value"))
    lifts = side_by_side([x(value) for value in row.reached.values()])
    for (seed, value), lift in zip(row.reached.items(), lifts, strict=True):
        hint = element("title", f"{row.name}, seed {seed}: {number(value)}")
        out.append(element("g", hint, marker(row.style.marker, (x(value), at + lift), 4, class_="dot")))
    places = apart([lost] * len(row.missed), 14, lost - 36, lost + 36)
    for (seed, rounds), place in zip(row.missed.items(), places, strict=True):
        hint = element("title", f"{row.name}, seed {seed}: not reached in {plural(rounds, 'round')}")
        out.append(element("g", hint, marker(row.style.marker, (place, at), 4.5, class_="hollow")))
    return out


def side_by_side(places: Sequence[float], size: float = 8.0) -> list[float]:
    """How far to move each mark up or down so that seeds that came out alike are all seen."""
    lifts = [0.0] * len(places)
    groups: list[list[int]] = []
    for i in sorted(range(len(places)), key=lambda i: places[i]):
        if groups and places[i] - places[groups[-1][0]] < size / 2:
            groups[-1].append(i)
        else:
            groups.append([i])
    for group in groups:
        step = min(size, 20 / max(len(group) - 1, 1))
        for n, i in enumerate(group):
            lifts[i] = step * (n - (len(group) - 1) / 2)
    return lifts
