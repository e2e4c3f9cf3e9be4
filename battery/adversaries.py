"""The adversary part of `make battery`: every selector, every way of lying, three shares of liars, guard off and on.

Cells already in the result are not played again, so a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

from callup.core.catalogue import SELECTORS
from callup.simulation.adversaries.base import ADVERSARIES
from callup.simulation.drill import drill

CLIENTS, K, ROUNDS = 100, 10, 100
SHARES = (0.2, 0.05, 0.01)
RESULT = Path(__file__).parent / "results" / "adversaries.json"


def play(selector: str, lie: str, share: float, guard: str, seeds: int) -> dict[str, Any]:
    """One cell: the mean over seeds, and its standard error where there are several."""
    played = [drill(selector, f"{lie}:share={share}", guard, CLIENTS, K, ROUNDS, seed) for seed in range(seeds)]
    places = [outcome.places for outcome in played]
    mean = sum(places) / seeds
    spread = math.sqrt(sum((p - mean) ** 2 for p in places) / (seeds - 1) / seeds) if seeds > 1 else 0.0
    return {
        "selector": selector,
        "lie": lie,
        "share": share,
        "guard": guard,
        "places": mean,
        "error": spread,
        "bound": played[0].bound,
        **{name: max(getattr(o, name) for o in played) for name in ("beyond", "liars_caught", "honest_caught")},
    }


def within(cell: dict[str, Any]) -> bool:
    """Whether the guard kept its word."""
    return cell["bound"] is None or cell["places"] <= cell["bound"] + 3 * cell["error"] + 1e-9


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1, help="seeds for every cell")
    parser.add_argument("--fresh", action="store_true", help="forget what was played before")
    parser.add_argument("--out", type=Path, default=RESULT, help="where the result goes, as JSON")
    asked = parser.parse_args()
    plan = {"clients": CLIENTS, "k": K, "rounds": ROUNDS, "seeds": asked.seeds}
    known: dict[str, Any] = {"plan": plan, "cells": []}
    if asked.out.exists() and not asked.fresh:
        stored = json.loads(asked.out.read_text(encoding="utf-8"))
        known = stored if stored["plan"] == plan else known
    done = {(c["selector"], c["lie"], c["share"], c["guard"]) for c in known["cells"]}
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    for share in SHARES:
        for card in SELECTORS.cards():
            for lie in ADVERSARIES.cards():
                for guard in ("off", "on"):
                    if (card.name, lie.name, share, guard) not in done:
                        known["cells"].append(play(card.name, lie.name, share, guard, asked.seeds))
            asked.out.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    broken = [cell for cell in known["cells"] if not within(cell)]
    worst = max(c["places"] for c in known["cells"] if c["guard"] == "on" and c["share"] == SHARES[0])
    sys.stdout.write(f"{len(known['cells'])} cells; guard on, {SHARES[0]:.0%} liars: at most {worst:.1%} of places\n")
    for cell in broken:
        sys.stdout.write(f"above its bound: {cell}\n")
    return 4 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
