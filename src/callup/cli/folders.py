"""Where runs go on disk: a new folder by default, and nothing that is there is replaced unasked."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from callup.core.errors import InputError, UsageError

if TYPE_CHECKING:
    from callup.experiments.grid import Cell
    from callup.simulation.run import Run

HOME = Path("runs")
INDEX = "race.toml"
_RUN_FILES = ("config.toml", "clients.safetensors", "events.jsonl", "state-*.safetensors")


def prepare(out: Path | None, name: str, force: bool) -> Path:
    """The folder to write to: `runs/name` or the next free number after it, or the one asked for if it is empty."""
    if out is None:
        numbered = (HOME / (name if n == 1 else f"{name}-{n}") for n in range(1, 1_000_000))
        return next(folder for folder in numbered if not folder.exists())
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out {out} is a file; name a folder")
    if out.is_dir() and any(out.iterdir()):
        if not force:
            raise UsageError(f"{out} is not empty; choose another --out, or add --force to replace the runs in it")
        _remove_runs(out)
    return out


def discard_empty(folder: Path) -> None:
    """Takes the folder of a run that never began away again."""
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def _remove_runs(folder: Path) -> None:
    """Takes away what runs are made of and nothing else, so that a wrong --out costs nobody their files."""
    for config in sorted(folder.glob("**/config.toml")):
        if not (config.parent / "events.jsonl").exists():
            continue
        for pattern in _RUN_FILES:
            for path in config.parent.glob(pattern):
                path.unlink()
        for parent in (config.parent, *config.parent.parents):
            if parent == folder or any(parent.iterdir()):
                break
            parent.rmdir()


def write_index(out: Path, command: str, cells: Sequence[Cell]) -> None:
    """Notes the command and the order of the runs, so that a report made later equals the one made now."""
    from callup.simulation.store import to_toml

    out.mkdir(parents=True, exist_ok=True)
    body = to_toml({"command": command, "runs": [cell.name for cell in cells]})
    (out / INDEX).write_text(body, encoding="utf-8")


def read_runs(folder: Path) -> tuple[list[Run], str]:
    """Every run with something to show, in the order of the race they belong to, and the command that made them."""
    from callup.simulation.store import load_run, load_runs

    if not folder.is_dir():
        raise InputError(f"no such folder: {folder}; make runs with: callup race --out {folder}")
    index = _index(folder / INDEX)
    if index is None:
        return load_runs(folder), ""
    begun = [folder / name for name in index["runs"] if _has_rounds(folder / name)]
    runs = [run for run in map(load_run, begun) if any(record.accuracy is not None for record in run.history)]
    if not runs:
        raise InputError(f"no run in {folder} got far enough to report on")
    return runs, index["command"]


def _has_rounds(folder: Path) -> bool:
    """False for a run that was stopped while it started: of its files some are missing or cut short."""
    events = folder / "events.jsonl"
    return events.exists() and events.stat().st_size > 0


def _index(path: Path) -> dict[str, Any] | None:
    if not path.exists():
        return None
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is damaged: {error}") from error
    names, command = values.get("runs"), values.get("command")
    if not isinstance(command, str) or not isinstance(names, list) or not all(_inside(name) for name in names):
        raise InputError(f"{path} is damaged: it must name a command and the runs below this folder")
    return values


def _inside(name: object) -> bool:
    """A plain relative path: an index that came from elsewhere must not point out of its folder."""
    return isinstance(name, str) and not Path(name).is_absolute() and ".." not in Path(name).parts
