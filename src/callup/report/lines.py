"""Lines over rounds with a band over seeds, labelled at their ends."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from callup.report import wording
from callup.report.axes import Frame, Scale, apart, ticks, widened, x_axis, y_axis
from callup.report.curves import Curve
from callup.report.svg import band, drawing, element, line, marker, path, text

LETTER = 8.4  # pixels, about, of one letter of a label


def line_chart(curves: Sequence[Curve], title: str, wide: bool, target: float | None = None) -> Markup:
    """Shares between 0 and 1 as percentages. The narrow picture leaves names to the buttons above it."""
    width, height = (860, 400) if wide else (360, 300)
    names = max((len(wording.shortened(c.name)) for c in curves), default=0) * LETTER + 22 if wide else 12
    frame = Frame(46, width - names, 16, height - 44)
    values = [v for c in curves for v in (*c.low, *c.high)] + ([target] if target is not None else [])
    low, high = widened(values)
    y = frame.y(max(low, 0.0), min(high, 1.0))
    first, last = min(c.rounds[0] for c in curves), max(c.rounds[-1] for c in curves)
    x = frame.x(first, last)
    parts = [
        y_axis(frame, y, ticks(y.low, y.high, 5), lambda v: wording.short_percent(v)),
        x_axis(frame, x, ticks(first, last, 8 if wide else 5), lambda v: wording.number(v, 0), "round"),
        *([_target(frame, y, target)] if target is not None else []),
        *(_band(c, x, y) for c in curves if c.seeds > 1),
        *(_line(c, x, y, offset=n) for n, c in enumerate(curves)),
        *(_labels(curves, x, y, frame) if wide else []),
        line((0, frame.top), (0, frame.bottom), class_="cross"),
    ]
    return drawing(
        width,
        height,
        title,
        *parts,
        class_="wide" if wide else "narrow",
        tabindex=0,
        data_left=frame.left,
        data_right=frame.right,
        data_first=first,
        data_last=last,
    )


def tip_data(curves: Sequence[Curve]) -> dict[str, object]:
    """What the page needs to show values under the pointer."""
    rounds = sorted({r for c in curves for r in c.rounds})
    at = [dict(zip(c.rounds, c.mean, strict=True)) for c in curves]
    return {
        "rounds": rounds,
        "methods": [c.method for c in curves],
        "names": [c.name for c in curves],
        "values": [[round(values[r], 4) if r in values else None for r in rounds] for values in at],
    }


def _target(frame: Frame, y: Scale, target: float) -> Markup:
    words = f"target {wording.short_percent(target)}"
    return line((frame.left, y(target)), (frame.right, y(target)), class_="target") + text(
        (frame.left + 6, y(target) - 6), words, class_="target-name"
    )


def _band(curve: Curve, x: Scale, y: Scale) -> Markup:
    xs = [x(r) for r in curve.rounds]
    area = band(xs, [y(v) for v in curve.low], [y(v) for v in curve.high])
    return element("path", d=area, class_=f"band s{curve.style.colour}", data_method=curve.method)


def _line(curve: Curve, x: Scale, y: Scale, offset: int) -> Markup:
    points = [(x(r), y(v)) for r, v in zip(curve.rounds, curve.mean, strict=True)]
    # Marks start at different places, so that lines that run together still show theirs.
    step = max(1, len(points) // 7)
    marks = [marker(curve.style.marker, p, 3.2, class_="mark") for p in points[(offset * step // 5) % step :: step]]
    drawn = element("path", d=path(points), class_="line", stroke_dasharray=curve.style.dash)
    return element("g", drawn, *marks, class_=f"series s{curve.style.colour}", data_method=curve.method)


def _labels(curves: Sequence[Curve], x: Scale, y: Scale, frame: Frame) -> list[Markup]:
    places = apart([y(c.mean[-1]) for c in curves], 15, frame.top, frame.bottom)
    return [
        element(
            "g",
            line((x(c.rounds[-1]) + 3, y(c.mean[-1])), (frame.right + 12, place), class_="leader"),
            text((frame.right + 16, place + 4), wording.shortened(c.name), class_="label"),
            class_=f"s{c.style.colour}",
            data_method=c.method,
        )
        for c, place in zip(curves, places, strict=True)
    ]
