"""The guard's price where everybody is honest: accuracy, rounds to target, recall of the classes few clients own."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

from callup.experiments.race import SCENARIOS
from callup.simulation.engine import simulate
from callup.simulation.run import Run
from callup.simulation.settings import Settings

RESULT = Path(__file__).parent / "results" / "guard-cost.json"
METHODS = ("random", "power-of-choice", "fedacs", "fedemd", "fed-cbs", "oort")
PLACES: dict[str, Settings] = {
    "skewed labels": SCENARIOS["skewed"].settings,
    "exclusive Mavericks": SCENARIOS["mavericks"].settings,
    "shared Mavericks": SCENARIOS["mavericks"].settings.but(
        partition="mavericks:clients=50,count=3,kind=shared", rare_classes=(0,)
    ),
}


def play(place: str, method: str, guard: str, seed: int) -> dict[str, Any]:
    """One run: the mean of its last five tests, as single tests of one run vary by more than the guard changes."""
    settings = PLACES[place].but(seed=seed, guard=guard).plain()
    settings.pop("selector")
    run = simulate(method, **settings)
    tests = [record for record in run.history if record.accuracy is not None]
    last = tests[-5:]
    return {
        "place": place,
        "method": method,
        "guard": guard,
        "seed": seed,
        "accuracy": statistics.mean(record.accuracy or 0.0 for record in last),
        "rounds": _rounds(run, PLACES[place].target or 1.0),
        "recall": _recall(run, PLACES[place].rare_classes),
        "quarantined": len({line for record in run.history for line in record.guard if "is not called before" in line}),
    }


def _rounds(run: Run, target: float) -> int:
    """The first tested round at the target, or one more than there were."""
    reached = (record.index for record in run.history if (record.accuracy or 0.0) >= target)
    return next(reached, len(run.history) + 1)


def _recall(run: Run, classes: tuple[int, ...]) -> float | None:
    tests = [record.recall for record in run.history if record.recall is not None][-5:]
    found = [recall[c] or 0.0 for recall in tests for c in classes]
    return statistics.mean(found) if found else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RESULT, help="where the result goes, as JSON")
    asked = parser.parse_args()
    rows: list[dict[str, Any]] = json.loads(asked.out.read_text(encoding="utf-8")) if asked.out.exists() else []
    done = {(row["place"], row["method"], row["guard"], row["seed"]) for row in rows}
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    for seed in range(asked.seeds):
        for place in PLACES:
            for method in METHODS:
                missing = [guard for guard in ("off", "on") if (place, method, guard, seed) not in done]
                rows += [play(place, method, guard, seed) for guard in missing]
                asked.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    for place in PLACES:
        for method in METHODS:
            off, on = (_mean(rows, place, method, guard) for guard in ("off", "on"))
            sys.stdout.write(
                f"{place:20} {method:16} accuracy {off['accuracy']:.3f} -> {on['accuracy']:.3f}  "
                f"rounds {off['rounds']:.1f} -> {on['rounds']:.1f}  recall {off['recall']:.3f} -> {on['recall']:.3f}  "
                f"quarantined {on['quarantined']:g}\n"
            )
    return 0


def _mean(rows: list[dict[str, Any]], place: str, method: str, guard: str) -> dict[str, float]:
    mine = [r for r in rows if (r["place"], r["method"], r["guard"]) == (place, method, guard)]
    names = ("accuracy", "rounds", "recall", "quarantined")
    return {name: statistics.mean(row[name] or 0.0 for row in mine) for name in names}


if __name__ == "__main__":
    sys.exit(main())
