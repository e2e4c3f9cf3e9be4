"""`callup analyze FILE`: how uneven a federation is, from its label counts."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from callup.cli.options import AsFormat, Format, Open
from callup.cli.terminal import clean, print_json, results, suggest_next
from callup.core.errors import InputError, UsageError

if TYPE_CHECKING:
    from callup.partition.label_file import LabelTable
    from callup.report.analysis import Named

_MOST_LINES = 5


def analyze(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Label counts: CSV with client,CLASS,CLASS,... or client,label[,count], JSON, or the folder of a run.",
        ),
    ],
    k: Annotated[int, typer.Option(min=1, help="Clients a round.")] = 10,
    epsilon: Annotated[
        float | None, typer.Option(help="Show beside it what remains visible with noise of this epsilon on the counts.")
    ] = None,
    seed: Annotated[int, typer.Option(help="For random groups and noise.")] = 0,
    out: Annotated[Path, typer.Option(help="The page.")] = Path("analysis.html"),
    open: Open = False,
    format: AsFormat = Format.table,
) -> None:
    """Say how uneven a federation is: distances, Mavericks, and what random draws miss."""
    from callup.cli.pages import open_page
    from callup.report.analysis import Named, write_analysis
    from callup.simulation.unevenness_study import study

    if epsilon is not None and not 0 < epsilon < math.inf:
        raise UsageError(f"--epsilon must be a finite number above 0, got {epsilon:g}")
    if out.is_dir():
        raise UsageError(f"--out {out} is a folder; name a file such as {out / 'analysis.html'}")
    table = _read(file)
    found = study(table.clients, k, seed)
    noised = study(_with_noise(table, epsilon, seed), k, seed) if epsilon is not None else None
    said = Named(found, table.names, table.classes, noised, epsilon)
    page = write_analysis(out, said, file.name, f"callup analyze {file.name} --k {k} --seed {seed}")
    if format is Format.json:
        print_json({"success": True, "page": str(page), **_document(said)})
    else:
        _print(said)
        print(page)
        suggest_next(f"callup advise {file}", f"callup audit privacy --federation {file}")
    if open:
        open_page(page)


def _read(file: Path) -> LabelTable:
    from callup.partition.label_file import LabelTable, read_labels

    if not file.is_dir():
        return read_labels(file)
    from callup.simulation.store import load_run

    clients = load_run(file).clients
    if "label_counts" not in clients:
        raise InputError(f"the run in {file} knows no label counts of its clients")
    classes = clients.all("label_counts").shape[1]
    return LabelTable(clients, tuple(map(str, clients.ids.tolist())), tuple(map(str, range(classes))))


def _with_noise(table: LabelTable, epsilon: float, seed: int) -> Any:
    from callup.core.clients import Clients
    from callup.privacy.simulated import simulated_release

    return Clients(table.clients.ids, label_counts=simulated_release(table.clients, epsilon, seed))


def _print(said: Named) -> None:
    from rich.table import Table

    from callup.report.analysis import figures, headline, problems

    console = results()
    one = said.study
    console.print(
        f"{len(one.clients):,} clients, {len(said.classes):,} classes, {int(one.sizes.sum()):,} samples\n", style="bold"
    )
    for line in headline(said):
        console.print(clean(line))
    for line in problems(said):
        console.print(f"! {clean(line)}")
    console.print()
    table = Table(box=None, show_header=said.noised is not None, padding=(0, 2, 0, 0))
    table.add_column("")
    table.add_column("as it is", justify="right")
    noised = figures(said.noised) if said.noised else {}
    if said.noised:
        table.add_column(f"epsilon {said.epsilon:g}", justify="right")
    for name, value in figures(one).items():
        table.add_row(name, value, *([noised[name]] if noised else []))
    console.print(table)
    for maverick in one.mavericks[:_MOST_LINES]:
        whose = f"class {said.classes[maverick.label]}: client {said.client(maverick.client)}"
        console.print(clean(f"{whose} holds {maverick.share:.0%} of it, and {maverick.elsewhere:.1%} of all else"))
    if len(one.mavericks) > _MOST_LINES:
        console.print(f"... and {len(one.mavericks) - _MOST_LINES} more Mavericks, on the page")
    console.print()


def _document(said: Named) -> dict[str, Any]:
    from callup.report.analysis import headline, numbers, problems

    views = [
        {**vars(view), "name": said.classes[view.label], "rounds": view.rounds if math.isfinite(view.rounds) else None}
        for view in said.study.classes
    ]
    mavericks = [{**vars(one), "name": said.client(one.client)} for one in said.study.mavericks]
    noise = {"epsilon": said.epsilon, **numbers(said.noised)} if said.noised else None
    return {
        "clients": len(said.names),
        "samples": int(said.study.sizes.sum()),
        "k": said.study.k,
        "headline": headline(said),
        "problems": problems(said),
        "figures": numbers(said.study),
        "noised": noise,
        "classes": views,
        "mavericks": mavericks,
    }
