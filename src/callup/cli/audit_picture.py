"""The audit as a picture: the true label counts beside what a curious selector ends up with under each mode."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from callup.privacy.audit.findings import Audit
from callup.report.svg import drawing, element, text

_CELL, _ROW, _GAP, _TOP, _MOST = 13, 9, 26, 64, 48
_DARK, _FAINT, _WRONG = "#1f4e79", "#8a8f98", "#c8442b"


def picture(audit: Audit) -> Markup:
    """Rows are clients, sorted by main class; columns are classes; dark is many. A red mark: not the true row."""
    truth = audit.truth
    spaced = np.linspace(0, len(truth) - 1, min(len(truth), _MOST)).astype(int)
    order = np.lexsort((truth.max(axis=1), truth.argmax(axis=1)))[spaced]
    panels = [("the truth", truth)] + [(f"selector, {name}", rows) for name, rows in audit.guesses.items()]
    width = truth.shape[1] * _CELL
    parts = [
        _panel(title, rows[order], truth[order], _GAP + number * (width + _GAP + 14))
        for number, (title, rows) in enumerate(panels)
    ]
    title = "What a curious selector learns of everybody's labels"
    head = text((_GAP, 24), title, style="font: 600 15px sans-serif", fill="#222")
    note = "rows: clients by main class; columns: classes; red: not the true row"
    foot = text((_GAP, _TOP + len(order) * _ROW + 22), note, style="font: 11px sans-serif", fill=_FAINT)
    size = max(len(panels) * (width + _GAP + 14) + _GAP, 460), _TOP + len(order) * _ROW + 36
    back = element("rect", width="100%", height="100%", fill="#fff")
    return drawing(*size, title, back, head, *parts, foot, xmlns="http://www.w3.org/2000/svg")


def _panel(title: str, rows: np.ndarray, truth: np.ndarray, left: float) -> Markup:
    shares = rows / np.maximum(rows.sum(axis=1, keepdims=True), 1)
    width = rows.shape[1] * _CELL
    right = int((rows == truth).all(axis=1).sum())
    label = title if title == "the truth" else f"{title}: {right} of {len(rows)} exact"
    marks = [text((left, _TOP - 10), label, style="font: 11px sans-serif", fill="#222")]
    frame = {"fill": "none", "stroke": "#d5d9df"}
    marks.append(element("rect", x=left, y=_TOP, width=width, height=len(rows) * _ROW, **frame))
    for row, column in zip(*np.nonzero(shares > 0.005), strict=True):
        # The root makes small counts visible.
        shade = f"{float(shares[row, column]) ** 0.5:.2f}"
        at = {"x": left + int(column) * _CELL, "y": _TOP + int(row) * _ROW, "width": _CELL, "height": _ROW}
        marks.append(element("rect", **at, fill=_DARK, fill_opacity=shade))
    marks += [
        element("rect", x=left + width + 2, y=_TOP + row * _ROW + 2, width=4, height=_ROW - 4, fill=_WRONG)
        for row in np.flatnonzero((rows != truth).any(axis=1)).tolist()
    ]
    return element("g", *marks)
