"""How selection grows with the number of clients, as a picture: both axes in powers of ten."""

from __future__ import annotations

import math
from typing import Any

from callup.report import styles
from callup.report.axes import Frame, Scale, apart, x_axis, y_axis
from callup.report.standalone import standalone
from callup.report.svg import drawing, element, line, marker, path, text

WIDTH, HEIGHT, NAMES = 900, 640, 290
MARKS = ("circle", "square", "triangle", "diamond", "down", "plus", "cross")
AIM_MS = 1_000.0

Line = tuple[str, list[tuple[float, float]]]
"""A name, and points: the powers of ten of clients and of milliseconds."""


def growth_picture(cases: list[dict[str, Any]]) -> str:
    """The median of select by number of clients, a line for each selector, slowest first."""
    lines = _lines(cases)
    frame = Frame(84, WIDTH - NAMES, 24, HEIGHT - 48)
    points = [point for _, each in lines for point in each]
    x = frame.x(min(p[0] for p in points), max(p[0] for p in points))
    lowest, highest = math.floor(min(p[1] for p in points)), math.ceil(max(p[1] for p in points))
    y = frame.y(lowest, max(highest, math.log10(AIM_MS)))
    aim = y(math.log10(AIM_MS))
    sizes = range(math.ceil(x.low), math.floor(x.high) + 1)
    parts = [
        y_axis(frame, y, list(range(lowest, round(y.high) + 1)), lambda power: f"{10**power:,.6g} ms"),
        x_axis(frame, x, list(sizes), lambda power: f"{10 ** int(power):,}", "clients"),
        line((frame.left, aim), (frame.right, aim), class_="target"),
        text((frame.left + 6, aim - 6), "aim: 1 s", class_="target-name"),
        *(_drawn(number, each, x, y) for number, each in enumerate(lines)),
    ]
    places = apart([y(each[-1][1]) for _, each in lines], 16, frame.top, frame.bottom)
    for number, ((name, each), place) in enumerate(zip(lines, places, strict=True)):
        end = (x(each[-1][0]) + 4, y(each[-1][1]))
        leader = line(end, (frame.right + 12, place), class_="leader")
        label = text((frame.right + 16, place + 4), name, class_="label")
        parts.append(element("g", leader, label, class_=_colour(number)))
    return standalone(drawing(WIDTH, HEIGHT, "Processor time of select by number of clients", *parts))


def _lines(cases: list[dict[str, Any]]) -> list[Line]:
    found: dict[str, list[tuple[float, float]]] = {}
    for case in sorted(cases, key=lambda c: int(c["clients"])):
        name = case["spec"] + ("" if case["k"] == 100 else f", k = {case['k']}")
        taken = max(case["select_ms"]["cpu_p50"], 1e-3)
        found.setdefault(name, []).append((math.log10(case["clients"]), math.log10(taken)))
    return sorted(found.items(), key=lambda each: -each[1][-1][1])


def _drawn(number: int, each: Line, x: Scale, y: Scale) -> object:
    points = [(x(clients), y(taken)) for clients, taken in each[1]]
    kind = MARKS[number % len(MARKS)]
    marks = [marker(kind, point, 3.2, class_="mark") for point in points]
    return element("g", element("path", d=path(points), class_="line"), *marks, class_=f"series {_colour(number)}")


def _colour(number: int) -> str:
    return f"s{number % len(styles.PALETTE)}"
