"""Writes docs/adversaries.md from the stored results of `battery/adversaries.py` and `battery/guard_cost.py`."""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS, PAGE = ROOT / "battery" / "results", ROOT / "docs" / "adversaries.md"
Cells = list[dict[str, Any]]

HEAD = """# Liars, with the guard off and on

Written by `python battery/adversaries_page.py` from the results of `make battery`; what the guard does is in
[guard.md](guard.md).

## What share of the places do liars win?

{clients} clients with skewed labels, {k} places a round, {rounds} rounds, a made-up federation without training
(`callup.simulation.drill`), {seeds}. A cell is the liars' share of all places in per cent, with the guard off → on. The
last column is what the guard promises.
"""

PRICE = """
## What does the guard cost where everybody is honest?

Real training on fashion14, {seeds} seeds, 50 rounds: the mean of the last five tests, the first tested round at the
target (51: not reached), and the recall of the classes that Mavericks own. Off → on. Runs with and without the guard
call different clients, so a single difference is partly luck; `random` shows how much. Nobody honest was set aside
{caught}.
"""


def table(cells: Cells, share: float) -> list[str]:
    """One row for each selector, one column for each lie."""
    mine = [cell for cell in cells if cell["share"] == share]
    lies = sorted({cell["lie"] for cell in mine})
    found = {(c["selector"], c["lie"], c["guard"]): c for c in mine}
    rows = [
        f"\n### {share:.0%} of the clients lie\n",
        f"| | {' | '.join(lies)} | bound |",
        "|---" * (len(lies) + 2) + "|",
    ]
    for selector in sorted({cell["selector"] for cell in mine}):
        shown = [_pair(found.get((selector, lie, "off")), found.get((selector, lie, "on"))) for lie in lies]
        bounds = [c["bound"] for c in mine if c["selector"] == selector and c["bound"] is not None]
        rows.append(f"| {selector} | {' | '.join(shown)} | {_percent(max(bounds)) if bounds else '–'} |")
    return rows


def _pair(off: dict[str, Any] | None, on: dict[str, Any] | None) -> str:
    return " → ".join("–" if cell is None else _percent(cell["places"]) for cell in (off, on))


def _percent(value: float) -> str:
    return f"{100 * value:.1f}" if value < 0.1 else f"{100 * value:.0f}"


def price(rows: Cells) -> list[str]:
    """One row for each scenario and method, means over the seeds that have both."""
    out = ["| scenario | method | accuracy, % | rounds to target | recall, % |", "|---|---|---|---|---|"]
    for place in dict.fromkeys(row["place"] for row in rows):
        for method in dict.fromkeys(row["method"] for row in rows):
            runs = {(r["guard"], r["seed"]): r for r in rows if (r["place"], r["method"]) == (place, method)}
            seeds = [seed for guard, seed in runs if guard == "off" and ("on", seed) in runs]
            if not seeds:
                continue
            cells = []
            for name, scale in (("accuracy", 100), ("rounds", 1), ("recall", 100)):
                values = {g: [runs[g, s][name] for s in seeds] for g in ("off", "on")}
                told = None not in values["off"]
                cells.append(" → ".join(f"{scale * statistics.mean(v):.1f}" for v in values.values()) if told else "–")
            out.append(f"| {place} | {method} | {' | '.join(cells)} |")
    return out


def main() -> int:
    stored = json.loads((RESULTS / "adversaries.json").read_text(encoding="utf-8"))
    plan, cells = stored["plan"], stored["cells"]
    seeds = "one seed" if plan["seeds"] == 1 else f"{plan['seeds']} seeds"
    lines = [HEAD.format(**{**plan, "seeds": seeds})]
    for share in sorted({cell["share"] for cell in cells}, reverse=True):
        lines += table(cells, share)
    cost = RESULTS / "guard-cost.json"
    if cost.exists():
        rows = json.loads(cost.read_text(encoding="utf-8"))
        caught = sum(row["quarantined"] for row in rows)
        told = f"in any of {len(rows) // 2} runs" if not caught else f"but {caught} times"
        lines.append(PRICE.format(seeds=max(row["seed"] for row in rows) + 1, caught=told))
        lines += price(rows)
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    sys.stdout.write(f"wrote {PAGE.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
