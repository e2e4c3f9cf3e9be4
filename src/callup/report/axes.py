"""Scales from values to pixels, round ticks, and the frame that charts stand in."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from callup.report.svg import element, line, text


@dataclass(frozen=True)
class Scale:
    """A straight map from values to pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        span = self.high - self.low
        return self.start + (self.end - self.start) * ((value - self.low) / span if span else 0.5)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round values within the range: 1, 2 or 5 times a power of ten apart."""
    if not high > low:
        return [low]
    raw = (high - low) / max(about, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [round(i * step, 10) for i in range(first, math.floor(high / step + 1e-9) + 1)]


def widened(values: Sequence[float], margin: float = 0.05) -> tuple[float, float]:
    """The range of the values with a little room; never empty."""
    low, high = min(values), max(values)
    room = margin * (high - low) or margin * max(abs(high), 1.0)
    return low - room, high + room


@dataclass(frozen=True)
class Frame:
    """The plotting area within a picture: pixels at left, right, top and bottom."""

    left: float
    right: float
    top: float
    bottom: float

    def x(self, low: float, high: float) -> Scale:
        return Scale(low, high, self.left, self.right)

    def y(self, low: float, high: float) -> Scale:
        return Scale(low, high, self.bottom, self.top)


def y_axis(frame: Frame, scale: Scale, at: Sequence[float], label: Callable[[float], str]) -> Markup:
    """Faint lines across and a value beside each."""
    parts = [
        line((frame.left, scale(v)), (frame.right, scale(v)), class_="grid")
        + text((frame.left - 8, scale(v) + 4), label(v), class_="tick", text_anchor="end")
        for v in at
    ]
    return element("g", *parts)


def x_axis(frame: Frame, scale: Scale, at: Sequence[float], label: Callable[[float], str], name: str) -> Markup:
    """A value below each tick and the name at the right end."""
    parts = [text((scale(v), frame.bottom + 18), label(v), class_="tick", text_anchor="middle") for v in at]
    base = line((frame.left, frame.bottom), (frame.right, frame.bottom), class_="axis")
    title = text((frame.right, frame.bottom + 36), name, class_="name", text_anchor="end")
    return element("g", base, *parts, title)


def apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions as near as can be to those wanted, at least `gap` apart and within bounds, so that labels do not meet.

    Neighbours that collide are moved as one block about the mean of what they wanted.
    """
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    blocks: list[tuple[list[int], float]] = []  # members from low to high, and the middle of the block
    for i in order:
        members, middle = [i], min(max(wanted[i], low), high)
        while (
            blocks and middle - gap * (len(members) - 1) / 2 < blocks[-1][1] + gap * (len(blocks[-1][0]) - 1) / 2 + gap
        ):
            members = blocks.pop()[0] + members
            half = gap * (len(members) - 1) / 2
            middle = min(max(sum(wanted[j] for j in members) / len(members), low + half), max(high - half, low + half))
        blocks.append((members, middle))
    placed = [0.0] * len(wanted)
    for members, middle in blocks:
        for n, i in enumerate(members):
            placed[i] = middle + gap * (n - (len(members) - 1) / 2)
    return placed
