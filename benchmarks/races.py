"""How well a race uses the cores: the same runs one after the other, and spread over all cores.

Four methods, two federations, two seeds, 20 rounds. If nothing were lost, the race would take the time of all runs
divided by the number of cores. `python benchmarks/races.py 3` plays three rounds only; its result is not for show.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from contest import keep, play, ratio, summary

from callup.core.clients import Clients
from callup.experiments.grid import Cell, run_grid
from callup.experiments.race import race_cells
from callup.simulation.run import RoundRecord

METHODS, SEEDS, ROUNDS, REPEATS = ("random", "power-of-choice", "fedemd", "fed-cbs"), 2, 20, 2
PATIENCE = 60.0  # seconds for each way


class Nobody:
    """Watches nothing."""

    def started(self, cell: Cell, clients: Clients) -> None: ...
    def round(self, cell: Cell, record: RoundRecord) -> None: ...
    def finished(self, cell: Cell) -> None: ...
    def failed(self, cell: Cell, message: str) -> None: ...


def race(cells: Sequence[Cell], jobs: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run_grid(cells, Path(folder), jobs, Nobody())


def main(rounds: int) -> None:
    cores = os.cpu_count() or 1
    cells = race_cells(METHODS, seeds=SEEDS, rounds=rounds)
    alone, together = "one run after the other", f"{cores} runs at a time"
    jobs = {alone: 1, together: cores}
    times = play({name: partial(race, cells, number) for name, number in jobs.items()}, REPEATS, PATIENCE)
    found = summary(times)
    first, second = (row["ms"] for row in found)
    result = {
        "work": f"{len(cells)} runs: {len(METHODS)} methods, two federations, {SEEDS} seeds, {rounds} rounds",
        "rows": found,
        "ratios": [
            ratio(f"{cores} runs at a time against one", first, second),
            ratio("share of the cores' time that is used", first, cores * second),
        ],
    }
    keep("races", result, *(["a trial, not a measurement"] if rounds < ROUNDS else []))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
