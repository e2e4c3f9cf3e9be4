"""`callup race`: the selection methods race on real data, and a report tells what came of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from callup.cli import completion
from callup.cli.failures import INTERRUPTED
from callup.cli.options import AsFormat, Force, Format, Open, OutFolder, Verbose
from callup.cli.terminal import print_json, say, suggest_next
from callup.core.errors import UsageError

if TYPE_CHECKING:
    from callup.experiments.grid import Cell


def race(
    context: typer.Context,
    methods: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[METHOD]...",
            help="Selectors, e.g. random fed-cbs:scale=3.5 my_method.py.",
            autocompletion=completion.selectors,
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A few rounds only.")] = False,
    seeds: Annotated[
        int | None, typer.Option(help="How often each method runs, each time with other luck: 5, or 2 when quick.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The first seed.")] = 0,
    jobs: Annotated[int | None, typer.Option(help="Runs at a time.", show_default="one for each core")] = None,
    rounds: Annotated[int | None, typer.Option(help="Rounds of each run.", show_default="as the scenario says")] = None,
    scenario: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this scenario; may be repeated.")
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Race in your own federation: public data dealt out as these label counts."),
    ] = None,
    k: Annotated[int, typer.Option(min=1, help="With --labels: clients a round.")] = 10,
    out: OutFolder = None,
    force: Force = False,
    format: AsFormat = Format.table,
    open: Open = False,
    verbose: Verbose = False,
) -> None:
    """Race selection methods on real data and write a report."""
    from callup.cli.folders import prepare, write_index
    from callup.cli.method_files import by_name
    from callup.core.types import check_k
    from callup.experiments.race import own_scenario, race_cells
    from callup.simulation.backends.reason import explain

    command = context.obj.command
    if rounds is not None:
        check_k(rounds, "--rounds")
    at_a_time = cores() if jobs is None else check_k(jobs, "--jobs")
    if labels is not None and scenario:
        raise UsageError("--labels is a scenario of its own; leave --scenario out")
    where = scenario if labels is None else [own_scenario(labels, k)]
    cells = race_cells(by_name(methods or ()), seeds=seeds, seed=seed, quick=quick, scenarios=where, rounds=rounds)
    if verbose:
        for sentence in dict.fromkeys(explain(cell.settings) for cell in cells):
            say(sentence)
        say(f"{len(cells)} runs, {min(at_a_time, len(cells))} at a time")
    folder = prepare(out, "race", force)
    write_index(folder, command, cells)
    play(cells, folder, command, at_a_time, format, open)


def play(cells: list[Cell], folder: Path, command: str, jobs: int, format: Format, open: bool) -> None:
    """Begins or continues the runs of a race, and reports on them."""
    from callup.cli.live.watch import watching
    from callup.cli.pages import open_page, write_page, write_partial
    from callup.cli.summary import print_summary, rows_for_json
    from callup.core.errors import CallupError
    from callup.experiments.grid import run_grid
    from callup.journal.journal import Pace
    from callup.simulation.recorder import Recording

    watcher = watching(cells)
    try:
        with watcher:
            # Many short runs: waiting for the disk after each round would take longer than the rounds.
            runs = run_grid(cells, folder, jobs, watcher, Recording(pace=Pace(sync=1.0)))
    except KeyboardInterrupt:
        write_partial(folder, watcher.board.ended, len(cells))
        suggest_next(f"callup resume {folder}")
        raise typer.Exit(INTERRUPTED) from None
    except CallupError:
        write_partial(folder, watcher.board.ended, len(cells))
        raise
    page = write_page(folder, runs, command)
    if format is Format.json:
        print_json({"success": True, "command": command, "report": str(page), **rows_for_json(runs)})
    else:
        print_summary(runs)
        say(f"report: {page}")
        suggest_next(f"callup report {folder} --open", "callup show lineup")
    if open:
        open_page(page)


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
