"""Writes docs/reliability.md from the stored results of the battery; `--check` says whether it is up to date."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from adversaries_page import seeds_told
from price import cases, together

ROOT = Path(__file__).resolve().parent.parent
RESULTS, PAGE = ROOT / "battery" / "results", ROOT / "docs" / "reliability.md"

HEAD = """# What was put to the test

Written by `python battery/page.py` from `battery/results/`, which `make battery` stores. `callup selftest` holds a
short form of it on your own machine in a few minutes and writes a page of its own.

| promise | goal | seen | |
|---|---|---|---|
"""

TAIL = """
Kills take the process away, not the machine: what was written and not yet synced survives them. The order of syncs has
tests of its own; loss of power was not rehearsed. Liars were set on a made-up federation without training; the whole
table, and what the guard costs where everybody is honest, is in [adversaries.md](adversaries.md). What a run leaves on
disk and how it is read again is in [journal.md](journal.md); faults in a real Flower federation are in
[flower-faults.md](flower-faults.md).
"""


def stored(name: str) -> Any:
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def rows() -> list[tuple[str, str, str, bool | None]]:
    """Promise, goal, what was seen and whether it was reached; None where nothing was measured yet."""
    return [crash(), steps(), *load(), liars(), honest(), *short()]


def crash() -> tuple[str, str, str, bool | None]:
    goal = "0 histories differ after kill -9 at each named point with 20 seeds and 200 times at random, with damage"
    found = stored("crash")
    if found is None:
        return "A killed run goes on bit by bit", goal, "not measured yet", None
    seen = (
        f"{found['named_kills']} kills at {len(found['points'])} points, {found['random_kills']} at random moments, "
        f"{found['torn_logs']} torn logs, {found['flipped_logs']} flipped bytes in logs, "
        f"{found['flipped_snapshots']} in snapshots: {len(found['diverged'])} differ"
    )
    return "A killed run goes on bit by bit", goal, seen, found["passed"]


def steps() -> tuple[str, str, str, bool | None]:
    goal = "100,000 steps of good and bad input: only documented errors, and no trace of what was refused"
    found = stored("machine")
    if found is None:
        return "Bad input harms nothing", goal, "not measured yet", None
    seen = f"{found['steps']:,} steps, {found['refused']:,} reports refused"
    return "Bad input harms nothing", goal, seen, found["steps"] >= 100_000


def load() -> list[tuple[str, str, str, bool | None]]:
    found = stored("load")
    if found is None:
        return []
    goals = found["goals"]
    names = {
        "snapshot_seconds": ("A million clients' state is saved", "s"),
        "load_seconds": ("and loaded", "s"),
        "bytes_per_reply": ("The journal stays small", "bytes a reply"),
    }
    return [
        (promise, f"at most {goals[key]:g} {unit}", f"{found[key]:g} {unit}", found[key] <= goals[key])
        for key, (promise, unit) in names.items()
    ]


def liars() -> tuple[str, str, str, bool | None]:
    goal = "with 20 % liars at most 30 % of the places, or the bound of a method that widens the cap itself"
    found = stored("adversaries")
    if found is None:
        return "Liars stay within the guard's bound", goal, "not measured yet", None
    twenty = [drill for drill in found["drills"] if drill["share"] == 0.2]
    on = [drill for drill in twenty if drill["guard"] == "on"]
    off = max(drill["places"] for drill in twenty if drill["guard"] == "off")
    above = [drill for drill in on if drill["places"] > max(drill["bound"], 0.3) + 1e-9]
    narrow = max(drill["places"] for drill in on if drill["bound"] <= 0.3 + 1e-9)
    wide = {
        name: (max(d["places"] for d in on if d["selector"] == name), bound)
        for name, bound in sorted({(d["selector"], d["bound"]) for d in on if d["bound"] > 0.3 + 1e-9})
    }
    told = ", ".join(f"{name} {most:.0%} of {bound:.0%}" for name, (most, bound) in wide.items())
    seen = (
        f"{len(on)} drills, {seeds_told(on)}: at most {narrow:.0%} where the bound is 30 %; "
        f"where a method widens it: {told}; without the guard up to {off:.0%}"
    )
    return "Liars stay within the guard's bound", goal, seen, not above


def honest() -> tuple[str, str, str, bool | None]:
    goal = "at most 1 point of accuracy, 10 % more rounds, 2 points of recall on three scenarios, nobody set aside"
    found = stored("guard-cost")
    if found is None:
        return "The guard does not punish the honest", goal, "not measured yet", None
    every = [(case, name, loss) for case in cases(found) for name, loss in case.losses.items()]
    missed = [f"{c.method}, {c.place}, {name} {loss.loss}" for c, name, loss in every if loss.refuted]
    unsure = [
        f"{c.method}, {c.place}, {name} {loss.loss}" for c, name, loss in every if not loss.met and not loss.refuted
    ]
    caught = sum(row["quarantined"] for row in found)
    seen = (
        f"{len(found) // 2} pairs of runs, {caught} honest clients set aside; of {len(every)} goals "
        f"{sum(loss.met for *_, loss in every)} are met in the mean, {sum(loss.shown for *_, loss in every)} with the "
        f"whole 95 % interval; missed: {'; '.join(missed) or 'none'}; beyond the goal within the noise: "
        f"{'; '.join(unsure) or 'none'}; all together {together(found)} % more rounds"
    )
    settled = True if not unsure else None
    return "The guard does not punish the honest", goal, seen, False if missed or caught else settled


_SHORT = {
    "replies": ("Enough clients reply", "with overcommit=auto k replies in 99 % of rounds, at 10 to 50 % drop-out"),
    "determinism": (
        "The same rounds, the same choices",
        "one digest for each method and seed, whatever the BLAS kernel, threads, CPU features, hash seed and order",
    ),
    "files": ("Hostile files are refused", "no code runs, no memory is taken, the file is named"),
    "contract": ("Every method keeps its contract", "no check that is shipped fails"),
}


def short() -> list[tuple[str, str, str, bool | None]]:
    """What the short battery alone looks at, from its stored result."""
    found = stored("selftest")
    held = {} if found is None else {trial["name"]: trial for trial in found["trials"]}
    return [(*_SHORT[name], held[name]["seen"], held[name]["passed"]) for name in _SHORT if name in held]


def page() -> str:
    marks = {True: "✓", False: "✗", None: "–"}
    lines = [f"| {promise} | {goal} | {seen} | {marks[passed]} |" for promise, goal, seen, passed in rows()]
    return HEAD + "\n".join(lines) + "\n" + TAIL


def main() -> int:
    if "--check" in sys.argv[1:]:
        current = PAGE.exists() and PAGE.read_text(encoding="utf-8") == page()
        sys.stdout.write("" if current else "docs/reliability.md is out of date: run python battery/page.py\n")
        return 0 if current else 1
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"wrote {PAGE.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
