"""Writes docs/tournament.md from the stored results; `--check` only says whether it is up to date."""

from __future__ import annotations

import sys
from pathlib import Path

from callup.experiments.reproduce.store import Results
from callup.experiments.tournament.board import Board
from callup.experiments.tournament.comparison import comparison
from callup.experiments.tournament.cup import FOLDER, MAIN, read_cup
from callup.experiments.tournament.extra_time import LongBoard
from callup.experiments.tournament.page import page

HERE = Path(__file__).parent
TOURNAMENT = HERE.parent / "papers" / FOLDER
PAGE = HERE / "tournament.md"
_HEAD = """# The tournament

Every selector of Callup in every paper's world, and in worlds that no paper used. Made from the stored results in
`papers/tournament/results/` by `docs/tournament.py`; not written by hand. Every number comes back with the command over
its table, which runs only the cells that are not stored yet. How it is planned is told in
[papers/tournament](../papers/tournament/README.md).

Accuracy is on test data, the mean over the last fifth of the evaluations, with the standard deviation over seeds.
Everything that was decided was decided by accuracy on validation data.
"""


def render() -> str:
    results = Results(TOURNAMENT / "results")
    parts = [_HEAD, *page(LongBoard(read_cup(TOURNAMENT), results))]
    for path in sorted(TOURNAMENT.glob("*.toml")):
        if path.stem != MAIN:
            cup = read_cup(TOURNAMENT, path.stem)
            parts += [f"\n## {cup.title}\n", *comparison(Board(cup, results))]
    return "\n".join(parts).rstrip() + "\n"


if __name__ == "__main__":
    from made_page import main  # beside this file, and found only when this one is run

    sys.exit(main(PAGE, render))
