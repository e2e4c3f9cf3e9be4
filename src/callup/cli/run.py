"""`callup run CONFIG.toml`: one federation, from a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from callup.cli.failures import INTERRUPTED
from callup.cli.options import AsFormat, Force, Format, OutFolder, Verbose, WhenFull, WhenFullOption
from callup.cli.terminal import print_json, say, suggest_next
from callup.core.basis import went_by
from callup.core.errors import CallupError, UsageError, suggest

if TYPE_CHECKING:
    from callup.experiments.grid import Cell
    from callup.simulation.recorder import Recording
    from callup.simulation.settings import Settings


def run(
    config: Annotated[Path, typer.Argument(metavar="CONFIG.toml", help="Settings of the run.")],
    change: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Change a setting, e.g. k=5 or local.epochs=2; may be repeated."
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="The seed.", show_default="as the file says")] = None,
    out: OutFolder = None,
    force: Force = False,
    when_full: WhenFullOption = WhenFull.stop,
    format: AsFormat = Format.table,
    verbose: Verbose = False,
) -> None:
    """Run one federation as a TOML file describes it. Stopped or crashed, it goes on with: callup resume."""
    from callup.cli.folders import discard_empty, prepare
    from callup.experiments.grid import Cell
    from callup.simulation.backends.reason import explain
    from callup.simulation.recorder import Recording

    changes = _changes(change or [])
    if seed is not None:
        changes["seed"] = seed
    settings = _settings(config, changes)
    if verbose:
        say(explain(settings))
    folder = prepare(out, config.resolve().parent.name if config.stem == "config" else config.stem, force)
    try:
        play(Cell(folder.name, settings), folder, format, Recording(when_full=when_full.value, say=say))
    except CallupError:
        discard_empty(folder)
        raise


def play(cell: Cell, folder: Path, format: Format, how: Recording) -> None:
    """Begins or continues the run in this folder, and prints what came of it."""
    from callup.cli.live.watch import watching
    from callup.cli.summary import print_summary, rows_for_json
    from callup.experiments.grid import run_grid
    from callup.journal.disk import NoRoom
    from callup.simulation.watch import summary

    watcher = watching([cell])
    try:
        with watcher:
            runs = run_grid([cell], folder.parent, 1, watcher, how)
    except KeyboardInterrupt:
        say(f"stopped after {watcher.board.lane(cell).done} of {cell.settings.rounds} rounds; they are in {folder}")
        suggest_next(f"callup resume {folder}")
        raise typer.Exit(INTERRUPTED) from None
    except NoRoom as error:
        raise NoRoom(f"{error}; rounds already written are safe, go on with: callup resume {folder}") from error
    if format is Format.json:
        print_json({"success": True, "folder": str(folder), **rows_for_json(runs)})
        return
    print_summary(runs)
    for one in runs[:1]:
        basis = went_by((record.index, record.notes) for record in one.history)
        for sentence in ([f"{one.settings['selector']} went by {basis}"] if basis else []) + summary(one.history):
            say(sentence)
    say(f"run: {folder}")
    suggest_next(f"callup report {folder}")


def _changes(pairs: list[str]) -> dict[str, Any]:
    """`key=value` as typed; `local.key=value` goes into the table of local training."""
    changes: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = (part.strip() for part in pair.partition("="))
        table, dot, name = key.partition(".")
        if not equals or not key or (dot and (table != "local" or not name)) or key == "local":
            raise UsageError(f"cannot read --set '{pair}': expected key=value or local.key=value")
        if dot:
            changes.setdefault("local", {})[name] = _local_value(name, value)
        else:
            changes[key] = value
    return changes


def _local_value(name: str, text: str) -> Any:
    """A setting of local training as its own type, so that it is stored as what it is."""
    from callup.core.spec import coerce, field_types
    from callup.simulation.local import LocalTraining

    kinds = field_types(LocalTraining)
    if name not in kinds:
        raise UsageError(f"local has no parameter '{name}'{suggest(name, kinds)}")
    return coerce(text, kinds[name], f"local: {name}")


def _settings(config: Path, changes: dict[str, Any]) -> Settings:
    """What the file says, with the changes; both go through the same checks."""
    from callup.simulation.settings import read_settings, settings

    read = read_settings(config)
    if not changes:
        return read
    values = read.plain()
    values["local"] = {**values["local"], **changes.pop("local", {})}
    return settings(**{**values, **changes})
