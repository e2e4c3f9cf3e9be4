"""The tournament in the terminal: who is best where, and the count over all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from callup.cli.terminal import results

if TYPE_CHECKING:
    from callup.experiments.tournament.board import Board


def print_boards(boards: list[Board]) -> None:
    """For each place a line; then a table of all methods."""
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    from callup.experiments.tournament.markdown import percent
    from callup.experiments.tournament.overview import KINDS, tallies
    from callup.experiments.tournament.page import tables_of

    console = results()
    for board in boards:
        tables = tables_of(board)
        console.print(Text(board.cup.title, "bold"))
        for name, lines in tables.items():
            told = [f"{line.method} {line.accuracy.text(1, 100)}" for line in lines[:3]]
            console.print(Text(f"{name}: {', '.join(told) or 'not played yet'}"))
        grid = Grid(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False)
        for heading in ("method", *KINDS, "best or tied", "worse than random", "mean rank"):
            grid.add_column(heading, justify="left" if heading == "method" else "right")
        for one in tallies(tables):
            counts = [str(len(one.accuracy[kind])) for kind in KINDS]
            worse, rank = str(len(one.worse_than_random)), f"{one.mean_rank:.1f}"
            grid.add_row(one.method, *counts, percent(one.share), worse, rank)
        console.print(grid)
