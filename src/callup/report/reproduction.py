"""Published numbers beside ours as files: a page, a CSV and a LaTeX table. Rows are plain values."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from callup.report.rendering import rendered

VERDICTS = ("reproduced", "direction only", "not reproduced", "contradicts itself", "not attempted")

Rows = Sequence[Mapping[str, Any]]


def write_reproduction(folder: Path, rows: Rows, titles: Mapping[str, str], command: str) -> list[Path]:
    """Three files with the same rows; each is written beside its place first, so nobody finds half of one."""
    folder.mkdir(parents=True, exist_ok=True)
    bodies = {"report.html": as_html(rows, titles, command), "rows.csv": as_csv(rows), "tables.tex": as_latex(rows)}
    written = []
    for name, body in bodies.items():
        part = folder / f".{name}.part"
        part.write_text(body, encoding="utf-8", errors="replace")
        written.append(part.replace(folder / name))
    return written


def counted(rows: Rows) -> dict[str, int]:
    """How many rows have each verdict; all five are named."""
    found = Counter(str(row["verdict"]) for row in rows)
    return {verdict: found[verdict] for verdict in VERDICTS}


def by_table(rows: Rows) -> dict[str, list[Mapping[str, Any]]]:
    """Rows of each table under its address, in the order given."""
    tables: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        tables.setdefault(f"{row['paper']}/{row['table']}", []).append(row)
    return tables


def as_html(rows: Rows, titles: Mapping[str, str], command: str) -> str:
    return rendered(
        "reproduction.html",
        tables=by_table(rows),
        titles=titles,
        counts=counted(rows),
        command=command,
    )


def as_csv(rows: Rows) -> str:
    if not rows:
        return ""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


_COLUMNS = ("measure", "environment", "method", "scale", "published", "ours", "runs", "verdict")


def as_latex(rows: Rows) -> str:
    """One tabular for each table; needs no package."""
    out = []
    for address, lines in by_table(rows).items():
        out += [f"% {address}", r"\begin{tabular}{" + "l" * len(_COLUMNS) + "}", r"\hline"]
        out.append(" & ".join(_COLUMNS) + r" \\ \hline")
        for line in lines:
            method = f"{line['method']} ({line['reading']})" if line["reading"] else str(line["method"])
            cells = [method if name == "method" else str(line[name]) for name in _COLUMNS]
            out.append(" & ".join(map(escaped, cells)) + r" \\")
        out += [r"\hline", r"\end{tabular}", ""]
    return "\n".join(out)


_LATEX = {
    "\\": r"\textbackslash{}",
    **{c: f"\\{c}" for c in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    ">": "$>$",
    "<": "$<$",
    "–": "--",
}


def escaped(text: str) -> str:
    return "".join(_LATEX.get(c, c) for c in text)
