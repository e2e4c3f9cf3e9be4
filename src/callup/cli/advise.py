"""`callup advise FILE`: which method to take, found out in a federation whose labels are spread like one's own."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from callup.cli.options import AsFormat, Force, Format
from callup.cli.race import cores
from callup.cli.terminal import clean, print_json, say, suggest_next
from callup.core.catalogue import DEFAULT
from callup.core.errors import UsageError


class Share(StrEnum):
    """What clients may tell."""

    all = "counts+losses"
    counts = "counts"
    updates = "updates"
    losses = "losses"


_CONTENDERS = {
    Share.all: ("random", DEFAULT, "lineup", "fed-cbs:sharp", "power-of-choice"),
    Share.counts: ("random", "lineup", "fed-cbs:sharp", "astraea", "fedemd"),
    Share.updates: ("random", "lineup:updates", "clustered-similarity", "fed-cucb", "lineup:losses"),
    Share.losses: ("random", "lineup:losses", "power-of-choice", "active-fl", "oort"),
}


def advise(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Label counts, as callup analyze reads them.")],
    share: Annotated[
        Share,
        typer.Option(
            help="What clients may tell: label counts, with or without losses, updates one by one, or losses alone."
        ),
    ] = Share.counts,
    k: Annotated[int, typer.Option(min=1, help="Clients a round.")] = 10,
    seeds: Annotated[int, typer.Option(help="How often each method runs; at least 3.")] = 5,
    rounds: Annotated[int, typer.Option(min=5, help="Rounds of each run.")] = 40,
    jobs: Annotated[int | None, typer.Option(help="Runs at a time.", show_default="one for each core")] = None,
    out: Annotated[Path, typer.Option("--out", help="Where the runs go.")] = Path("runs/advice"),
    force: Force = False,
    format: AsFormat = Format.table,
) -> None:
    """Say which method to take: races them on public data dealt out as your labels are."""
    from callup.cli.folders import prepare, write_index
    from callup.cli.live.watch import watching
    from callup.cli.pages import write_page
    from callup.core.types import check_k
    from callup.experiments.grid import run_grid
    from callup.experiments.race import own_scenario, race_cells
    from callup.report.advice import advise as advice_from
    from callup.report.grouping import scenarios

    if seeds < 3:
        raise UsageError(f"--seeds must be at least 3 to tell a difference from luck, got {seeds}")
    cells = race_cells(_CONTENDERS[share], seeds=seeds, scenarios=[own_scenario(file, k)], rounds=rounds)
    at_a_time = cores() if jobs is None else check_k(jobs, "--jobs")
    folder = prepare(out, "advice", force)
    command = f"callup race --labels {file}"
    write_index(folder, command, cells)
    with watching(cells) as watcher:
        runs = run_grid(cells, folder, at_a_time, watcher)
    page = write_page(folder, runs, command)
    found = advice_from(scenarios(runs)[0])
    if format is Format.json:
        print_json(
            {
                "success": True,
                "method": found.method,
                "best": found.best,
                "within_a_point": list(found.nearly),
                "because": found.sentences(),
                "report": str(page),
            }
        )
        return
    for sentence in found.sentences():
        print(clean(sentence))
    print(f'In Flower: callup.flower.Selecting(FedAvg(), "{found.method}", k={cells[0].settings.k})')
    say("measured on small pictures of clothes, dealt out as your labels are: your data may differ in all but labels")
    suggest_next(f"callup compare {folder}", f"callup report {folder} --open", f"callup show {found.method}")
