"""docs/performance.md, docs/performance-selection.md and the picture of growth, from stored results alone.

`python benchmarks/performance_page.py` writes them; `--check` tells which are out of date and ends with code 1.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

from growth_picture import growth_picture
from performance_notes import CHOICE, HEAD, TRIED
from selection_page import page as selection_page
from selection_page import unreached

ROOT = Path(__file__).resolve().parent.parent
RESULTS, DOCS = ROOT / "benchmarks" / "results", ROOT / "docs"
PICTURE = "pictures/selection-growth.svg"
WORKS = {
    "mlp": "MLP 784-64-10, 300 samples a client",
    "cnn": "CNN 6/16 filters 5x5, 120, 84 on 32x32x3, 250 samples a client",
}
ALONE = {
    "mlp": "The perceptron by backend",
    "cnn": "The convolutional network by backend",
    "lstm": "Next words: an LSTM",
    "races": "Races over the cores",
}
AIMS = {
    ("mlp", "pfl"): 6.0,
    ("mlp", "pfl, two processes"): 6.0,
    ("mlp", "FedJAX"): 2.5,
    ("mlp", "Flower simulation engine"): 12.0,
    ("cnn", "pfl"): 2.5,
    ("cnn", "pfl, two processes"): 2.5,
    ("cnn", "FedJAX"): 8.0,
    ("cnn", "plain torch loop"): 3.0,
}
FLOORS = {"mlp": 2.2}
"""Callup's round may take at most so many times what its products alone would."""


def pages() -> dict[Path, str]:
    """Every file that is made from results, and what it should hold."""
    found = {name: json.loads(path.read_text()) for path in RESULTS.glob("*.json") for name in [path.stem]}
    made = {DOCS / "performance.md": page(found)}
    if "select" in found:
        made[DOCS / "performance-selection.md"] = selection_page(found["select"])
        made[DOCS / PICTURE] = growth_picture(found["select"]["cases"])
    return made


def page(found: dict[str, Any]) -> str:
    lines = [HEAD, "## Against other simulators", "", *(_peers(found["peers"]) if "peers" in found else _none("peers"))]
    for name, title in ALONE.items():
        lines += ["", f"## {title}", "", *(_alone(found[name]) if name in found else _none(name))]
    lines += ["", "## Selection", ""]
    lines += _selection(found["select"]) if "select" in found else _none("select")
    return "\n".join([*lines, "", CHOICE, "", TRIED]).rstrip() + "\n"


def _none(name: str) -> list[str]:
    return [f"Not measured yet: `make bench` stores `benchmarks/results/{name}.json`."]


def _machine(result: dict[str, Any]) -> str:
    flaws = "".join(f" Not a clean measurement: {flaw}." for flaw in result.get("flaws", []))
    return f"Measured on {result['date']}: {result['cores']} cores, {result['processor']}.{flaws}"


def _peers(result: dict[str, Any]) -> list[str]:
    speeds = result["matmul_gflops"]
    told = " and ".join(f"{speed:.0f} GFLOP/s with {threads}" for threads, speed in speeds.items())
    lines = [f"{_machine(result)} A product of 2048 x 2048 runs at {told} threads.", ""]
    for work, title in WORKS.items():
        rows = [row for row in result["rows"] if row["work"] == work]
        if not rows:
            lines += [f"{title}: not measured yet.", ""]
            continue
        floor = result["floor_ms"][work]
        lines += [f"### {title}", "", "| simulator | ms a round | x Callup | aim | threads | start-up, s |"]
        lines += ["|---|--:|--:|--:|--:|--:|"]
        lines += [_peer(row) for row in rows]
        ours = next((row["ms"] for row in rows if row["name"] == "Callup"), math.nan)  # it may have failed
        aim = f", aim at most {FLOORS[work]:g} times" if work in FLOORS else ""
        mark = _mark(ours / floor <= FLOORS[work]) if work in FLOORS else ""
        told = f"The products of a round alone take {floor:.1f} ms at the speed of all cores; Callup takes"
        lines += ["", f"{told} {ours / floor:.2f} times that{aim}{mark}.", ""]
    lines += [f"{name} {reason}." for name, reason in result["failed"].items()]
    return lines[:-1] if not lines[-1] else lines


def _peer(row: dict[str, Any]) -> str:
    aim, times = AIMS.get((row["work"], row["name"])), row["times_callup"] or math.nan
    shown = "" if aim is None else f"{aim:g}{_mark(times >= aim)}"
    return (
        f"| {row['name']} ({row['version']}) | {row['ms']:,.1f} | {times:.2f} | {shown} | "
        f"{row['threads']} | {row['start_up_s']:.1f} |"
    )


def _mark(reached: bool) -> str:
    return ": reached" if reached else ": **missed**"


def _alone(result: dict[str, Any]) -> list[str]:
    floor = result.get("floor_ms_one_core")
    lines = [f"{_machine(result)} {result['work']}."]
    if floor:
        lines[0] += f" The products alone take {floor:,.0f} ms of one core, at {result['matmul_gflops_one_core']:.0f} "
        lines[0] += "GFLOP/s."
    lines += ["", "| | median, ms | best, ms | processor, ms |", "|---|--:|--:|--:|"]
    for row in result["rows"]:
        lines.append(f"| {row['name']} | {row['ms']:,.1f} | {row['best_ms']:,.1f} | {row['processor_ms']:,.1f} |")
    lines.append("")
    for each in result["ratios"]:
        aim = f", aim {each['aim']:g}{_mark(each['times'] >= each['aim'])}" if each.get("aim") else ""
        lines.append(f"- {each['what']}: {each['times']:.2f} times{aim}")
        lines += _out_of_reach(result, each.get("aim"))
    return [*lines, "", "Processor time is that of the process itself, without its workers."]


def _out_of_reach(result: dict[str, Any], aim: float | None) -> list[str]:
    """Of an aim that would take less time than the multiplications: by how much."""
    if not aim or not result.get("floor_ms_one_core"):
        return []
    floor = result["floor_ms_one_core"] / result["cores"]
    plain = min(row["ms"] for row in result["rows"] if row["name"].startswith("plain"))
    if aim <= plain / floor:
        return []
    told = f"  The products alone take {floor:,.0f} ms on {result['cores']} cores at the speed of a large product, so"
    return [told, f"  {plain / floor:.2f} times is the most without fewer multiplications or fewer digits."]


def _selection(result: dict[str, Any]) -> list[str]:
    missed = unreached(result["cases"])
    verdict = ["Not reached with a million clients:", "", *missed] if missed else ["All aims are reached."]
    return [
        "Aims for 100 of a million clients, ten classes: select within a second, update within 10 ms, one gigabyte.",
        "Numbers for every method are on [a page of their own](performance-selection.md).",
        "",
        *verdict,
        "",
        f"![Processor time of select by number of clients]({PICTURE})",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; end with code 1 if a page is out of date")
    check = parser.parse_args().check
    made = pages()
    stale = [path for path, text in made.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        print(f"{'out of date' if check else 'wrote'}: {path.relative_to(ROOT)}")
        if not check:
            path.write_text(made[path], encoding="utf-8")
    if check and stale:
        sys.exit("run: python benchmarks/performance_page.py")


if __name__ == "__main__":
    main()
