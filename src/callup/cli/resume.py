"""`callup resume RUN`: goes on where a run or a race was stopped, however it was stopped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from callup.cli.options import AsFormat, Format, WhenFull, WhenFullOption
from callup.cli.terminal import clean, say
from callup.core.errors import InputError, UsageError

if TYPE_CHECKING:
    from callup.journal.found import Found


def resume(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run or a race.")],
    forget: Annotated[
        bool,
        typer.Option("--forget", help="Set the rounds after the newest snapshot aside; do not compute them again."),
    ] = False,
    when_full: WhenFullOption = WhenFull.stop,
    jobs: Annotated[
        int | None, typer.Option(help="Runs at a time, in a race.", show_default="one for each core")
    ] = None,
    format: AsFormat = Format.table,
) -> None:
    """Go on with a run or a race that was stopped; the result is the one it would have had."""
    from callup.cli import race, run
    from callup.cli.folders import read_plan
    from callup.core.types import check_k
    from callup.experiments.grid import Cell
    from callup.simulation.recorder import Recording, finished
    from callup.simulation.settings import read_settings

    if not folder.is_dir():
        raise InputError(f"no such folder: {folder}; begin a run with: callup run CONFIG.toml --out {folder}")
    plan = read_plan(folder)
    if plan is not None:
        if forget:
            raise UsageError(f"--forget is for one run at a time: callup resume {folder / plan[0][0].name} --forget")
        cells, command = plan
        at_a_time = race.cores() if jobs is None else check_k(jobs, "--jobs")
        race.play(cells, folder, command, at_a_time, format, open=False)
        return
    if not (folder / "config.toml").exists():
        raise InputError(f"{folder} is not a run: config.toml is missing")
    if _runs_in_flower(folder):
        raise UsageError(f"{folder} is a run of Flower; go on with: flwr run . --run-config 'resume=true'")
    settings = read_settings(folder / "config.toml")
    home = folder.resolve()
    if finished(folder, settings) is not None:
        say(f"nothing to do: all {settings.rounds} rounds are there")

    def tell(found: Found) -> None:
        for note in found.notes:
            say(clean(f"note: {note}"))
        say(f"found {_found(len(found.entries), found.snapshot_round, settings.rounds)}")

    how = Recording(when_full=when_full.value, forget=forget, say=say, found=tell)
    run.play(Cell(home.name, settings), folder if folder.name == home.name else home, format, how)


def _found(rounds: int, snapshot: int, planned: int) -> str:
    kept = f"{rounds} of {planned} rounds and the state after round {snapshot}" if snapshot else f"{rounds} rounds"
    if rounds == snapshot:
        return f"{kept}; going on"
    again = f"round {rounds} is" if rounds == snapshot + 1 else f"rounds {snapshot + 1} to {rounds} are"
    return f"{kept}; {again} computed again and compared, then it goes on"


def _runs_in_flower(folder: Path) -> bool:
    """By its settings, which are there whatever became of the journal."""
    import tomllib

    from callup.journal.disk import read_text

    try:
        return tomllib.loads(read_text(folder / "config.toml")).get("runtime") == "flower"
    except (OSError, ValueError, RecursionError):
        return False  # what is wrong with them is said by whoever reads them next
