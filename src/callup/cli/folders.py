"""Where runs go on disk: a new folder by default, and nothing that is there is replaced unasked."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from callup.core.errors import InputError, UsageError

if TYPE_CHECKING:
    from callup.experiments.grid import Cell
    from callup.simulation.run import Run

HOME = Path("runs")
_MOST_PLAN = 1 << 26
INDEX = "race.toml"
CELLS = "cells.json"
_RUN_FILES = (
    "config.toml",
    "clients.safetensors",
    "events.jsonl",
    "journal",
    "journal.damaged-*",
    "lock",
    "profile-*.safetensors",
    "state-*.safetensors",
)


def prepare(out: Path | None, name: str, force: bool) -> Path:
    """The folder to write to: `runs/name` or the next free number after it, or the one asked for if it is empty."""
    if out is None:
        numbered = (HOME / (name if n == 1 else f"{name}-{n}") for n in range(1, 1_000_000))
        return next(folder for folder in numbered if not folder.exists())
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out {out} is a file; name a folder")
    if out.is_dir() and any(out.iterdir()):
        if not force:
            raise UsageError(
                f"{out} is not empty; choose another --out, add --force to replace the runs in it, or go on with them: "
                f"callup resume {out}"
            )
        _remove_runs(out)
    return out


def discard_empty(folder: Path) -> None:
    """Takes the folder of a run that never began away again."""
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def _remove_runs(folder: Path) -> None:
    """Takes away what runs are made of and nothing else, so that a wrong --out costs nobody their files."""
    from callup.journal.lock import RunInUse, held

    configs = sorted(path.parent for path in folder.glob("**/config.toml"))
    runs = [run for run in configs if any((run / name).exists() for name in ("events.jsonl", "journal"))]
    for run in runs:
        if holder := held(run):
            raise RunInUse(run, holder)
    for name in (INDEX, CELLS):
        (folder / name).unlink(missing_ok=True)
    for run in runs:
        for pattern in _RUN_FILES:
            for path in run.glob(pattern):
                path.unlink()
        for parent in (run, *run.parents):
            if parent == folder or any(parent.iterdir()):
                break
            parent.rmdir()


def write_index(out: Path, command: str, cells: Sequence[Cell]) -> None:
    """Notes the command, the order of the runs and their settings: for later reports, and to go on after a crash."""
    from callup.journal.disk import private_folder, write_whole
    from callup.simulation.toml import to_toml

    private_folder(out)
    planned = {cell.name: cell.settings.plain() for cell in cells}
    write_whole(out / CELLS, json.dumps(planned, indent=1, allow_nan=False).encode())
    write_whole(out / INDEX, to_toml({"command": command, "runs": list(planned)}).encode())


def read_plan(folder: Path) -> tuple[list[Cell], str] | None:
    """The runs a race was to consist of and the command that began it; None where there is no race."""
    from callup.experiments.grid import Cell
    from callup.journal.disk import read_text
    from callup.simulation.settings import settings

    index = _index(folder / INDEX)
    if index is None:
        return None
    path = folder / CELLS
    try:
        planned = json.loads(read_text(path, _MOST_PLAN))
        return [Cell(name, settings(**planned[name])) for name in index["runs"]], index["command"]
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{path} is damaged: {error}") from error


def read_runs(folder: Path) -> tuple[list[Run], str]:
    """Every run with something to show, in the order of the race they belong to, and the command that made them."""
    from callup.simulation.store import has_rounds, load_run, load_runs

    if not folder.is_dir():
        raise InputError(f"no such folder: {folder}; make runs with: callup race --out {folder}")
    index = _index(folder / INDEX)
    if index is None:
        return load_runs(folder), ""
    begun = [folder / name for name in index["runs"] if has_rounds(folder / name)]
    runs = [run for run in map(load_run, begun) if any(record.accuracy is not None for record in run.history)]
    if not runs:
        raise InputError(f"no run in {folder} got far enough to report on")
    return runs, index["command"]


def _index(path: Path) -> dict[str, Any] | None:
    from callup.journal.disk import read_text

    if not path.exists():
        return None
    try:
        values = tomllib.loads(read_text(path))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} is damaged: {error}") from error
    names, command = values.get("runs"), values.get("command")
    home = path.parent.resolve()
    if not isinstance(command, str) or not isinstance(names, list) or not all(_inside(home, name) for name in names):
        raise InputError(f"{path} is damaged: it must name a command and the runs below this folder")
    return values


def _inside(home: Path, name: object) -> bool:
    """A plain name below this folder: an index that came from elsewhere must not point out of it, by links neither."""
    if not isinstance(name, str) or not name.isprintable() or len(name.encode()) > 200 or ".." in Path(name).parts:
        return False
    place = (home / name).resolve()
    return place != home and place.is_relative_to(home)
