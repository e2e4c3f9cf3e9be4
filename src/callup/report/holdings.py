"""Pictures of label counts: who holds what, how far clients are from everybody, and what random draws miss."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from callup.analytics.reach import chance_missing
from callup.core.clients import Clients
from callup.report.axes import Frame, ticks, x_axis, y_axis
from callup.report.charts import Chart
from callup.report.lines import LETTER
from callup.report.png import data_address, png
from callup.report.raster import LEVELS, ROWS, palette, roster
from callup.report.svg import drawing, element, line, path, text
from callup.report.wording import number, plural, short_percent, shortened

_BINS = 20
_MOST_CLASSES = 360


def heat_map(clients: Clients, names: Sequence[str], rare: Sequence[int]) -> Chart | None:
    """A client for each line, sorted by its main class, a class for each column, darker for a larger share.

    None where classes are more than can be told apart.
    """
    if len(names) > _MOST_CLASSES:
        return None
    image = data_address(png(_shades(clients, rare), palette()))
    return Chart(_map(image, len(clients), names, True), _map(image, len(clients), names, False))


def _map(image: str, clients: int, names: Sequence[str], wide: bool) -> Markup:
    width, height = (860, 320) if wide else (360, 300)
    frame = Frame(12, width - 12, 8, height - 44)
    across = frame.right - frame.left
    place = {"x": frame.left, "y": frame.top, "width": across, "height": frame.bottom - frame.top}
    paper = element("rect", class_="paper", **place)
    picture = element("image", href=image, preserveAspectRatio="none", **place)
    room = across / len(names)
    longest = max(len(shortened(name)) for name in names) * LETTER + 8
    step = max(int(np.ceil(longest / room)), 1)
    labels = [
        text(
            (frame.left + room * (column + 0.5), frame.bottom + 16),
            shortened(names[column]),
            class_="tick",
            text_anchor="middle",
        )
        for column in range(0, len(names), step)
    ]
    foot = text((frame.right, frame.bottom + 34), "class", class_="name", text_anchor="end")
    title = f"Label shares of {plural(clients, 'client')}"
    return drawing(width, height, title, paper, picture, *labels, foot, class_="wide" if wide else "narrow")


def _shades(clients: Clients, rare: Sequence[int]) -> np.ndarray:
    """Entries of the palette; several clients share a line where there are many."""
    counts = clients.all("label_counts")
    people = roster(clients, rare)
    shares = (counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))[people.order]
    height = min(len(shares), ROWS)
    line_of = np.arange(len(shares)) * height // len(shares)
    mean = np.zeros((height, counts.shape[1]))
    np.add.at(mean, line_of, shares)
    mean /= np.bincount(line_of, minlength=height)[:, None]
    level = np.ceil(LEVELS * mean / max(float(mean.max()), 1e-12)).astype(np.uint8)
    owned = np.zeros_like(level, bool)
    owned[:, list(rare)] = True
    return np.asarray(np.where((level > 0) & owned, level + LEVELS, level), np.uint8)


def histogram(values: np.ndarray, name: str, title: str) -> Chart:
    """How many clients have values from 0 to 1 in each of twenty steps; a line at the median."""
    known = values[np.isfinite(values)]
    heights = np.histogram(known, _BINS, (0.0, 1.0))[0]
    args = (heights, float(np.median(known)), name, title)
    return Chart(_bars(*args, wide=True), _bars(*args, wide=False))


def _bars(heights: np.ndarray, median: float, name: str, title: str, wide: bool) -> Markup:
    width, height = (860, 260) if wide else (360, 240)
    frame = Frame(52, width - 16, 26, height - 44)
    x, y = frame.x(0.0, 1.0), frame.y(0.0, 1.12 * float(heights.max()))  # room for the word at the median
    parts = [
        y_axis(frame, y, ticks(0, y.high, 4), number),
        x_axis(frame, x, ticks(0, 1, 5), short_percent, name),
        text((frame.left, frame.top - 10), "clients", class_="name"),
    ]
    step = 1.0 / _BINS
    for n, count in enumerate(heights.tolist()):
        left, top = x(n * step) + 1, y(count)
        hint = element(
            "title", f"{plural(count, 'client')}: {short_percent(n * step)} to {short_percent((n + 1) * step)}"
        )
        bar = element("rect", hint, x=left, y=top, width=x(step) - x(0) - 2, height=frame.bottom - top, class_="mark")
        parts += [element("g", bar, class_="s0")] if count else []
    parts.append(line((x(median), frame.top), (x(median), frame.bottom), class_="target"))
    parts.append(text((x(median) + 6, frame.top + 4), "median", class_="target-name"))
    return drawing(width, height, title, *parts, class_="wide" if wide else "narrow")


def misses(holders: np.ndarray, clients: int, k: int, names: Sequence[str], rare: Sequence[int]) -> Chart:
    """The chance that a round has none of a class, by how many clients are drawn; a line for each class."""
    most = min(clients, max(5 * k, 10))
    sizes = np.unique(np.linspace(1, most, 60).astype(int))
    curves = np.array([chance_missing(holders, clients, int(size)) for size in sizes])
    drawn = np.argsort(holders, kind="stable")[:40]  # of many classes those that are missed most
    args = (sizes, curves, drawn, k, names, set(rare))
    return Chart(_lines(*args, wide=True), _lines(*args, wide=False))


def _lines(
    sizes: np.ndarray, curves: np.ndarray, drawn: np.ndarray, k: int, names: Sequence[str], rare: set[int], wide: bool
) -> Markup:
    width, height = (860, 300) if wide else (360, 280)
    frame = Frame(52, width - 16, 26, height - 44)
    x, y = frame.x(float(sizes[0]), float(sizes[-1])), frame.y(0.0, 1.0)
    parts = [
        y_axis(frame, y, ticks(0, 1, 5), short_percent),
        x_axis(frame, x, [v for v in ticks(x.low, x.high, 8 if wide else 4) if v == int(v)], number, "clients a round"),
        text((frame.left, frame.top - 10), "of rounds have none of it", class_="name"),
        line((x(k), frame.top), (x(k), frame.bottom), class_="target"),
        text((x(k) + 6, frame.top + 12), f"k = {k}", class_="target-name"),
    ]
    for label in drawn.tolist():
        points = [(x(float(size)), y(float(curve[label]))) for size, curve in zip(sizes, curves, strict=True)]
        hint = element("title", f"class {names[label]}")
        parts.append(element("path", hint, d=path(points), class_="class rare" if label in rare else "class"))
    return drawing(
        width, height, "Chance that a class is missing in a round", *parts, class_="wide" if wide else "narrow"
    )
