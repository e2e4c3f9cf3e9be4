"""The load part of `make battery`: a million clients' state saved and loaded, and what a reply costs on disk.

Times are of the processor, not of the clock, so they hold on a machine that is busy.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from callup.core.clients import Clients
from callup.core.per_client import PerClient
from callup.core.randomness import stream
from callup.core.types import Feedback, Round, Selection
from callup.journal.appending import Log
from callup.journal.entries import Entry
from callup.journal.log import NAME, read_log
from callup.journal.snapshots import read_snapshot, snapshots, write_snapshot
from callup.journal.turns import Turn, record_turn

MILLION = 1_000_000
GOALS = {"snapshot_seconds": 0.5, "load_seconds": 1.0, "bytes_per_reply": 60.0}


def state() -> dict[str, np.ndarray]:
    """What oort knows of a million clients, and a model of 100,000 numbers."""
    rng = stream(0, "state")
    found: dict[str, np.ndarray] = {"model": rng.random(100_000, np.float32)}
    for name in ("utility_", "duration_", "last_", "calls_"):
        table = PerClient(0.0)
        table.set(np.arange(MILLION), rng.random(MILLION))
        found |= {f"selector.{name}.{part}": array for part, array in table.state().items()}
    return found


def seconds(work: Callable[[], Any]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def bytes_per_reply(folder: Path, k: int, clients: int = 100_000, rounds: int = 50, online: float = 1.0) -> float:
    """A method that learns loss and duration; a record of the usual size goes with each round."""
    table = Clients(np.arange(clients))
    log = Log.begun(folder, Entry(0, {"schema": 1}))
    before = (folder / NAME).stat().st_size
    for index in range(1, rounds + 1):
        rng = stream(1, index)
        here = table.ids if online == 1 else np.flatnonzero(rng.random(clients) < online)
        asked = rng.choice(here, k, replace=False)
        signals = {"loss_rms": rng.random(k), "duration": rng.random(k)}
        now = Round(index, here, table, stream(2, index))
        facts, arrays = record_turn(Turn(now, k, Selection(asked), Feedback(index, asked, signals, table)), table)
        facts["record"] = {
            "available": len(here),
            "digest": "0123456789abcdef",
            "abandoned": False,
            "qcid": rng.random(),
            "class_counts": rng.integers(0, 2000, 10).tolist(),
            "accuracy": rng.random(),
            "loss": rng.random(),
            "recall": rng.random(10).tolist(),
            "validation_accuracy": rng.random(),
            "validation_loss": rng.random(),
            "notes": {},
            "seconds": rng.random(),
            "clock": index * rng.random(),
            "ledger": {
                "messages": 2 * k,
                "bytes_down": 100_000 * k,
                "bytes_up": 100_000 * k,
                "probes": 0,
                "local_steps": 5,
            },
        }
        log.append(Entry(index, facts, arrays | {"kept": np.ones(k, bool)}), sync=False)
    log.close()
    if not read_log(folder).whole:
        raise RuntimeError("the log is not whole")
    return ((folder / NAME).stat().st_size - before) / (rounds * k)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="where the result goes, as JSON")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        arrays = state()
        saving = min(seconds(lambda: write_snapshot(Path(home), 1, arrays)) for _ in range(3))
        path = snapshots(Path(home))[0][1]
        found = {
            "clients": MILLION,
            "snapshot_megabytes": round(path.stat().st_size / 1e6, 1),
            "snapshot_seconds": round(saving, 3),
            "load_seconds": round(min(seconds(lambda: read_snapshot(path)) for _ in range(3)), 3),
            "bytes_per_reply": round(bytes_per_reply(Path(home), 100), 1),
            "bytes_per_reply_10_a_round": round(bytes_per_reply(Path(home), 10), 1),
            "bytes_per_reply_half_of_100000_online": round(bytes_per_reply(Path(home), 100, online=0.5), 1),
        }
    passed = all(float(found[name]) <= goal for name, goal in GOALS.items())
    text = json.dumps({**found, "goals": GOALS, "passed": passed}, indent=1)
    if asked.out is not None:
        asked.out.parent.mkdir(parents=True, exist_ok=True)
        asked.out.write_text(text + "\n", encoding="utf-8")
    sys.stdout.write(text + "\n")
    return 0 if passed else 6


if __name__ == "__main__":
    sys.exit(main())
