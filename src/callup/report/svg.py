"""Drawing by writing: elements with escaped attributes and text, and the few marks the pictures share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from markupsafe import Markup, escape

Point = tuple[float, float]


def element(name: str, *children: object, **attributes: object) -> Markup:
    """One element. `class_` is class, `stroke_width` is stroke-width; None leaves an attribute out."""
    given = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), _short(value))
        for key, value in attributes.items()
        if value is not None and value != ""
    )
    inside = Markup("").join(escape(child) for child in children)
    return Markup("<{0}{1}>{2}</{0}>" if inside else "<{0}{1}/>").format(name, given, inside)


def drawing(width: float, height: float, title: str, *children: object, **attributes: object) -> Markup:
    """A picture with a name for those who cannot see it."""
    named = {"role": "img", "aria_label": title} | attributes
    box = f"0 0 {_short(width)} {_short(height)}"
    return element("svg", *children, viewBox=box, width=width, height=height, **named)


def text(at: Point, words: object, **attributes: object) -> Markup:
    return element("text", words, x=at[0], y=at[1], **attributes)


def line(start: Point, end: Point, **attributes: object) -> Markup:
    return element("line", x1=start[0], y1=start[1], x2=end[0], y2=end[1], **attributes)


def path(points: Sequence[Point], closed: bool = False) -> str:
    """The `d` of a path through these points: tenths of a pixel, each step from the one before, which is shorter."""
    tenths = [(round(10 * x), round(10 * y)) for x, y in points]
    steps = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(tenths)]
    moves = "".join(_tenths(part) for step in steps for part in step)
    return (
        "M"
        + "".join(_tenths(part) for part in tenths[0]).strip()
        + (f"l{moves.strip()}" if moves else "")
        + "Z" * closed
    )


def band(xs: Sequence[float], low: Sequence[float], high: Sequence[float]) -> str:
    """The `d` of an area between two lines."""
    there = list(zip(xs, high, strict=True))
    back = list(zip(xs, low, strict=True))[::-1]
    return path(there + back, closed=True)


def marker(kind: str, at: Point, size: float = 4.0, **attributes: object) -> Markup:
    """A filled mark; the shape tells methods apart where colour does not."""
    x, y = at
    if kind == "circle":
        return element("circle", cx=x, cy=y, r=size, **attributes)
    return element(
        "path", d=path([(x + size * dx, y + size * dy) for dx, dy in _SHAPES[kind]], closed=True), **attributes
    )


def _plus(arm: float) -> list[Point]:
    a, b = arm, 1.2
    return [(-a, -b), (a, -b), (a, -a), (b, -a), (b, a), (a, a), (a, b), (-a, b), (-a, a), (-b, a), (-b, -a), (-a, -a)]


def _turned(points: Iterable[Point]) -> list[Point]:
    return [((x - y) * 0.7071, (x + y) * 0.7071) for x, y in points]


_SHAPES: dict[str, list[Point]] = {
    "square": [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
    "triangle": [(0, -1.2), (1.1, 0.8), (-1.1, 0.8)],
    "down": [(0, 1.2), (1.1, -0.8), (-1.1, -0.8)],
    "diamond": [(0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)],
    "plus": _plus(0.4),
    "cross": _turned(_plus(0.4)),
}


def _tenths(count: int) -> str:
    """A number of tenths as short as SVG can read it after another number."""
    shown = f"{abs(count) / 10:g}".removeprefix("0") or "0"
    return f"-{shown}" if count < 0 else f" {shown}"


def _short(value: object) -> object:
    """Numbers with at most one decimal: finer than a pixel is only weight."""
    if not isinstance(value, float):
        return value
    shown = f"{value:.1f}".removesuffix(".0")
    return "0" if shown == "-0" else shown
