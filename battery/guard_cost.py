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
METHODS = ("random", "fed-cbs", "fedemd", "fedacs", "oort", "power-of-choice", "fedcm-ucb", "fedcm-ts")
FILTERS = {"fedcm-ucb": "fedca", "fedcm-ts": "fedca"}
"""What a method cannot do without: FedCM learns from which models were kept."""
FIRST = 300
"""The first seed: limits were chosen by a look at others, 0 to 4, 100 to 109 and 200 to 207."""
LAST = 10
_SKEWED, _MAVERICKS = (SCENARIOS[name].settings.but(evaluate_every=1) for name in ("skewed", "mavericks"))
PLACES: dict[str, Settings] = {
    "skewed labels": _SKEWED,
    "exclusive Mavericks": _MAVERICKS,
    "shared Mavericks": _MAVERICKS.but(partition="mavericks:clients=50,count=3,kind=shared", rare_classes=(0,)),
}


def play(place: str, method: str, guard: str, seed: int) -> dict[str, Any]:
    """One run: the mean of its last ten tests, one a round.

    Single tests vary by more than the guard changes, and methods that call a Maverick in every other round would show
    nothing but that if every other round were tested.
    """
    settings = PLACES[place].but(seed=seed, guard=guard, filter=FILTERS.get(method)).plain()
    settings.pop("selector")
    run = simulate(method, **settings)
    tests = [record for record in run.history if record.accuracy is not None]
    return {
        "place": place,
        "method": method,
        "guard": guard,
        "seed": seed,
        "accuracy": statistics.mean(record.accuracy or 0.0 for record in tests[-LAST:]),
        "rounds": _rounds(run, PLACES[place].target or 1.0),
        "recall": _recall(run, PLACES[place].rare_classes),
        "quarantined": len({line for record in run.history for line in record.guard if "is not called before" in line}),
    }


def _rounds(run: Run, target: float) -> int:
    """The first tested round at the target, or one more than there were."""
    reached = (record.index for record in run.history if (record.accuracy or 0.0) >= target)
    return next(reached, len(run.history) + 1)


def _recall(run: Run, classes: tuple[int, ...]) -> float | None:
    tests = [record.recall for record in run.history if record.recall is not None][-LAST:]
    found = [recall[c] or 0.0 for recall in tests for c in classes]
    return statistics.mean(found) if found else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--first", type=int, default=FIRST, help="the first seed")
    parser.add_argument("--methods", nargs="*", default=METHODS, help="these alone")
    parser.add_argument("--places", nargs="*", default=list(PLACES), choices=list(PLACES), help="these alone")
    parser.add_argument("--out", type=Path, default=RESULT, help="where the result goes, as JSON")
    asked = parser.parse_args()
    rows: list[dict[str, Any]] = json.loads(asked.out.read_text(encoding="utf-8")) if asked.out.exists() else []
    done = {(row["place"], row["method"], row["guard"], row["seed"]) for row in rows}
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    for seed in range(asked.first, asked.first + asked.seeds):
        for place in asked.places:
            for method in asked.methods:
                missing = [guard for guard in ("off", "on") if (place, method, guard, seed) not in done]
                rows += [play(place, method, guard, seed) for guard in missing]
            lines = ",\n".join(json.dumps(row) for row in rows)
            asked.out.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    sys.stdout.write(f"{len(rows)} runs in {asked.out}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
