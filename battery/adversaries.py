"""The adversary part of `make battery`: every selector, every way of lying, three shares of liars, guard off and on.

Drills already in the result are not played again, so a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from callup.core.catalogue import DEFAULT, SELECTORS
from callup.simulation.adversaries.base import ADVERSARIES
from callup.simulation.drill import drill

CLIENTS, K, ROUNDS = 100, 10, 100
SEEDS = {0.2: 3, 0.05: 1, 0.01: 1}
"""With the guard on, for each share of liars; the largest is the one with a goal. Without it one is enough."""
RESULT = Path(__file__).parent / "results" / "adversaries.json"
_NAMES = ("selector", "lie", "share", "guard", "seed")


def plan() -> Iterator[tuple[str, str, float, str, int]]:
    """Every drill, all lies against one selector together."""
    for share, seeds in SEEDS.items():
        for seed in range(seeds):
            for selector in [*(card.name for card in SELECTORS.cards()), DEFAULT]:
                for lie in ADVERSARIES.cards():
                    for guard in ("off", "on") if seed == 0 else ("on",):
                        yield selector, lie.name, share, guard, seed


def play(selector: str, lie: str, share: float, guard: str, seed: int) -> dict[str, Any]:
    """One drill."""
    seen = drill(selector, f"{lie}:share={share}", guard, CLIENTS, K, ROUNDS, seed)
    facts = {name: getattr(seen, name) for name in ("places", "bound", "beyond", "liars_caught", "honest_caught")}
    return {**dict(zip(_NAMES, (selector, lie, share, guard, seed), strict=True)), **facts}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="forget what was played before")
    parser.add_argument("--only", nargs="*", default=[], help="forget and play these selectors alone")
    parser.add_argument("--out", type=Path, default=RESULT, help="where the result goes, as JSON")
    asked = parser.parse_args()
    setting = {"clients": CLIENTS, "k": K, "rounds": ROUNDS}
    drills: list[dict[str, Any]] = []
    if asked.out.exists() and not asked.fresh:
        stored = json.loads(asked.out.read_text(encoding="utf-8"))
        drills = [d for d in stored["drills"] if stored["plan"] == setting and d["selector"] not in asked.only]
    done = {tuple(d[name] for name in _NAMES) for d in drills}
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    last = None
    for one in plan():
        if one in done or (asked.only and one[0] not in asked.only):
            continue
        if last not in (None, one[0]):
            _write(asked.out, setting, drills)
        drills.append(play(*one))
        last = one[0]
    _write(asked.out, setting, drills)
    above = [d for d in drills if d["bound"] is not None and d["places"] > d["bound"] + 1e-9]
    worst = max(d["places"] for d in drills if d["guard"] == "on" and d["share"] == max(SEEDS))
    sys.stdout.write(f"{len(drills)} drills; guard on, {max(SEEDS):.0%} liars: at most {worst:.1%} of places\n")
    for one_above in above:
        sys.stdout.write(f"above its bound: {one_above}\n")
    return 4 if above else 0


def _write(path: Path, setting: dict[str, int], drills: list[dict[str, Any]]) -> None:
    """One drill a line: a thousand drills can be read, and a changed one is seen in a diff."""
    lines = ",\n".join(json.dumps(one) for one in drills)
    path.write_text(f'{{"plan": {json.dumps(setting)}, "drills": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
