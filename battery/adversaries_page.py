"""Writes docs/adversaries.md from the stored results of `battery/adversaries.py` and `battery/guard_cost.py`."""

from __future__ import annotations

import json
import math
import statistics
import sys
from pathlib import Path
from typing import Any

from price import Case, Loss, cases, together

ROOT = Path(__file__).resolve().parent.parent
RESULTS, PAGE = ROOT / "battery" / "results", ROOT / "docs" / "adversaries.md"
Drills = list[dict[str, Any]]
_PLACES = ("skewed labels", "exclusive Mavericks", "shared Mavericks")

HEAD = """# Liars, with the guard off and on

Written by `python battery/adversaries_page.py` from the results of `make battery`; what the guard does is in
[guard.md](guard.md).

## What share of the places do liars win?

{clients} clients with skewed labels, {k} places a round, {rounds} rounds, a made-up federation without training
(`callup.simulation.drill`). A cell is the liars' share of all places in per cent, with the guard off → on: off with one
seed, on the largest of all seeds. The last column is what the guard promises.
"""

PRICE = """
## What does the guard cost where everybody is honest?

Real training on fashion14, 50 rounds, seeds {seeds}, each once with and once without the guard: the mean of the last
ten tests, the first round at the target (51: not reached), and the recall of the classes that Mavericks own. Off → on,
then what is lost, with its 95 % interval by Student's t over the paired seeds; below zero is a gain. The goals: no more
than 1 point of accuracy, 10 % of the rounds, 2 points of recall. Bold: the mean is beyond the goal. Runs with and
without the guard call different clients from the first time it acts, so a difference is partly luck, as `random`
shows; only an interval that is all within the goal shows that it is met. Nobody honest was set aside {caught}.
"""


def table(drills: Drills, share: float) -> list[str]:
    """One row for each selector, one column for each lie."""
    mine = [one for one in drills if one["share"] == share]
    lies = sorted({one["lie"] for one in mine})
    rows = [
        f"\n### {share:.0%} of the clients lie, {seeds_told(mine)}\n",
        f"| | {' | '.join(lies)} | bound |",
        "|---" * (len(lies) + 2) + "|",
    ]
    for selector in sorted({one["selector"] for one in mine}):
        own = [one for one in mine if one["selector"] == selector]
        shown = [" → ".join(_largest(own, lie, guard) for guard in ("off", "on")) for lie in lies]
        bounds = [one["bound"] for one in own if one["bound"] is not None]
        rows.append(f"| {selector} | {' | '.join(shown)} | {_percent(max(bounds)) if bounds else '–'} |")
    return [*rows, "", verdict(mine)]


def verdict(drills: Drills) -> str:
    """Whether the promise was kept: in each drill, and in the mean over seeds with three standard errors."""
    on = [one for one in drills if one["guard"] == "on"]
    above = [one for one in on if one["places"] > one["bound"] + 1e-9]
    broken = []
    for selector, lie in dict.fromkeys((one["selector"], one["lie"]) for one in on):
        mine = [one for one in on if (one["selector"], one["lie"]) == (selector, lie)]
        places = [one["places"] for one in mine]
        error = statistics.stdev(places) / math.sqrt(len(places)) if len(places) > 1 else 0.0
        if statistics.mean(places) > mine[0]["bound"] + 3 * error + 1e-9:
            broken.append(f"{selector}, {lie}")
    said = f"{len(above)} of {len(on)} drills with the guard on end above the bound"
    if any(one["seed"] for one in on):
        said += f"; means over seeds above the bound by more than three standard errors: {', '.join(broken) or 'none'}"
    beyond = sum(one["beyond"] for one in on)
    caught = sum(one["honest_caught"] for one in on)
    return f"{said}. Places given beyond all limits: {beyond}; honest clients set aside: {caught}."


def seeds_told(drills: Drills) -> str:
    """How many, with the guard on; selectors may differ while the battery is under way."""
    by_selector: dict[str, set[int]] = {}
    for one in drills:
        by_selector.setdefault(one["selector"], set()).add(one["seed"])
    fewest, most = min(map(len, by_selector.values())), max(map(len, by_selector.values()))
    return f"{most} seed{'s' if most > 1 else ''}" if fewest == most else f"{fewest} to {most} seeds"


def _largest(drills: Drills, lie: str, guard: str) -> str:
    found = [one["places"] for one in drills if (one["lie"], one["guard"]) == (lie, guard)]
    return _percent(max(found)) if found else "–"


def _percent(value: float) -> str:
    return f"{100 * value:.1f}" if value < 0.1 else f"{100 * value:.0f}"


def price(found: list[Case]) -> list[str]:
    """One row for each scenario and method."""
    out = [
        "| scenario | method | seeds | accuracy, % | lost, points | rounds | more, % | recall, % | lost, points |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for case in found:
        cells = [_loss(case.losses.get(name)) for name in ("accuracy", "rounds", "recall")]
        out.append(f"| {case.place} | {case.method} | {case.seeds} | {' | '.join(cells)} |")
    return out


def _loss(loss: Loss | None) -> str:
    if loss is None:
        return "– | –"
    told = str(loss.loss) if loss.met else f"**{loss.loss}**"
    return f"{loss.off:.1f} → {loss.on:.1f} | {told}"


def tally(found: list[Case]) -> str:
    """How many of the goals are met, shown to be met, and shown not to be."""
    every = [loss for case in found for loss in case.losses.values()]
    met, shown, refuted = (sum(getattr(loss, name) for loss in every) for name in ("met", "shown", "refuted"))
    return (
        f"Of {len(every)} goals {met} are met in the mean, {shown} with the whole interval, and {refuted} are missed "
        "with the whole interval."
    )


def main() -> int:
    stored = json.loads((RESULTS / "adversaries.json").read_text(encoding="utf-8"))
    drills = stored["drills"]
    lines = [HEAD.format(**stored["plan"])]
    for share in sorted({one["share"] for one in drills}, reverse=True):
        lines += table(drills, share)
    cost = RESULTS / "guard-cost.json"
    if cost.exists():
        rows = json.loads(cost.read_text(encoding="utf-8"))
        caught = sum(row["quarantined"] for row in rows)
        told = f"in any of {len(rows) // 2} runs" if not caught else f"but {caught} times"
        seeds = sorted({row["seed"] for row in rows})
        lines.append(PRICE.format(seeds=f"{seeds[0]} to {seeds[-1]}", caught=told))
        found = sorted(cases(rows), key=lambda case: (_PLACES.index(case.place), case.method))
        lines += price(found)
        lines += ["", f"{tally(found)} All together, runs with the guard need {together(rows)} % more rounds."]
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    sys.stdout.write(f"wrote {PAGE.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
