"""Which classes were seen: the mix of all samples trained on so far, against the mix of the whole federation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from callup.report.axes import Frame, Scale, apart, ticks
from callup.report.grouping import Method
from callup.report.svg import band, drawing, element, line, path, text

POINTS, MANY, FEW = 60, 16, 3
_NAMES = {-3: "⅛×", -2: "¼×", -1: "½×", 0: "1×", 1: "2×", 2: "4×", 3: "8×"}


def seen_so_far(method: Method) -> np.ndarray | None:
    """Rounds x classes: share of each class among samples seen up to then over its global share, pooled over seeds.

    None where no counts were recorded. A run that stopped early stops counting; its seed is then left out.
    """
    longest = max(len(run.history) for run in method.runs)
    runs = [r for r in method.runs if len(r.history) == longest and longest and "label_counts" in r.clients]
    runs = [r for r in runs if any(record.class_counts for record in r.history)]
    if not runs:
        return None
    classes = runs[0].clients.all("label_counts").shape[1]
    total = np.zeros((longest, classes))
    held = np.zeros(classes)
    for run in runs:
        counts = [record.class_counts or [0] * classes for record in run.history]
        total += np.cumsum(np.asarray(counts, np.float64), axis=0)
        held += run.clients.all("label_counts").sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = total / total.sum(axis=1, keepdims=True)
        return np.asarray(share / (held / held.sum()))


def reach(every: Sequence[np.ndarray]) -> int:
    """How many doublings the panels of a scenario show either side of a fair share: at most three, fewer if enough."""
    with np.errstate(divide="ignore"):
        # Early rounds swing widely in any method; the scale is set by what follows.
        off = [np.abs(np.log2(np.nan_to_num(ratios[len(ratios) // 10 :], nan=1.0))) for ratios in every]
    return next((n for n in (1, 2) if all(one.max() <= n for one in off)), 3)


def coverage(ratios: np.ndarray, rare: Sequence[int], octaves: int, title: str) -> Markup:
    """A panel of 300 pixels across: 1x is a fair share; rare classes stand out, the others form a bundle.

    Shares beyond the scale are drawn at its edge.
    """
    width, height = 300, 190
    frame = Frame(34, 268, 10, height - 26)
    rounds, classes = ratios.shape
    y = frame.y(-octaves, octaves)
    x = frame.x(1, max(rounds, 2))
    drawn = np.unique(np.linspace(0, rounds - 1, POINTS).round().astype(int))
    level = np.log2(np.clip(np.nan_to_num(ratios[drawn], nan=1.0), 2.0**-octaves, 2.0**octaves))
    xs = [x(t + 1) for t in drawn]
    scale = [
        line((frame.left, y(v)), (frame.right, y(v)), class_="one" if v == 0 else "grid")
        + text(
            (frame.left - 6, y(v) + 4),
            _NAMES[v],
            class_="tick" if v in (-octaves, 0, octaves) else "tick minor",
            text_anchor="end",
        )
        for v in range(-octaves, octaves + 1)
    ]
    low, high = level.min(axis=1), level.max(axis=1)
    parts = [element("path", d=band(xs, [y(v) for v in low], [y(v) for v in high]), class_="bundle")]
    if classes <= MANY:
        parts += [_class(level[:, c], xs, y, "class") for c in range(classes) if c not in rare]
    parts += [_class(level[:, c], xs, y, "class rare") for c in rare if c < classes]
    below = [
        text((x(t), frame.bottom + 15), int(t), class_="tick", text_anchor="middle")
        for t in ticks(1, max(rounds, 2), 4)[:-1]
        if t >= 1 and t == int(t)
    ]
    name = text((frame.right, frame.bottom + 15), "round", class_="name", text_anchor="end")
    return drawing(width, height, title, *scale, *parts, *_names(level[-1], rare, y, frame), *below, name)


def worst_off(ratios: np.ndarray) -> str:
    """In words, the class furthest from its share, or those never seen."""
    unseen = np.flatnonzero(ratios == 0)
    if len(unseen) == 1:
        return f"class {unseen[0]} never seen"
    if len(unseen):
        named = ", ".join(map(str, unseen[:FEW])) + (", …" if len(unseen) > FEW else "")
        return f"{len(unseen)} classes never seen: {named}"
    worst = int(np.nanargmax(np.abs(np.log2(ratios))))
    return f"furthest off: class {worst}, {ratios[worst]:.2f}× its share"


def _class(level: np.ndarray, xs: list[float], y: Scale, kind: str) -> Markup:
    return element("path", d=path([(a, y(b)) for a, b in zip(xs, level, strict=True)]), class_=kind)


def _names(last: np.ndarray, rare: Sequence[int], y: Scale, frame: Frame) -> list[Markup]:
    """The number of each rare class, and of any other that ends far from its share unless there are many."""
    off = [c for c in range(len(last)) if c not in rare and abs(last[c]) > np.log2(1.25)]
    named = [c for c in rare if c < len(last)] + (off if len(off) <= FEW else [])
    places = apart([y(last[c]) for c in named], 11, frame.top, frame.bottom)
    return [
        text((frame.right + 6, place + 4), c, class_="tick rare-name" if c in rare else "tick")
        for c, place in zip(named, places, strict=True)
    ]
