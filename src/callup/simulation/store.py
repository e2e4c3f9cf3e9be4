"""A run on disk: settings as TOML, one JSON line a round, arrays as safetensors. Nothing in it runs code."""

from __future__ import annotations

import importlib.metadata
import platform
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from callup.core.clients import Clients
from callup.core.errors import InputError
from callup.journal.disk import private_folder, read_text, write_whole
from callup.journal.snapshots import read_snapshot, snapshots, write_snapshot
from callup.journal.tensors import pack, read_tensors
from callup.simulation.events import NAME as EVENTS
from callup.simulation.events import Events, read_events
from callup.simulation.run import Run
from callup.simulation.toml import to_toml

CONFIG, CLIENTS = "config.toml", "clients.safetensors"
_SCHEMA = 1
_PROFILE = ("num_examples", "label_counts", "latency")
_ROLES = ("selector", "average", "filter", "guard")


def write_config(folder: Path, settings: Mapping[str, Any]) -> None:
    """The settings: with these alone a run can be begun."""
    body = {"schema": _SCHEMA, **settings, "versions": versions()}
    private_folder(folder)
    write_whole(folder / CONFIG, to_toml(body).encode())


def write_clients(folder: Path, clients: Clients) -> None:
    """The federation as it truly is."""
    columns = {name: clients.all(name) for name in _PROFILE if name in clients}
    write_whole(folder / CLIENTS, pack({"ids": clients.ids, **columns}, {"schema": _SCHEMA}))


def save_run(run: Run, folder: Path) -> Path:
    """A finished run as a directory."""
    write_config(folder, run.settings)
    write_clients(folder, run.clients)
    with Events(folder) as events:
        events.rewrite(run.history)
    arrays = {"model": run.model}
    for role, state in run.states.items():
        arrays |= {f"{role}.{name}": array for name, array in state.items()}
    write_snapshot(folder, len(run.history), arrays)
    return folder


def load_run(folder: Path) -> Run:
    """A run from its directory; one that was interrupted has the rounds it got to and no end state."""
    try:
        settings = tomllib.loads(read_text(folder / CONFIG))
        found = settings.pop("schema", None)
        if found != _SCHEMA:
            raise InputError(f"{folder} has run schema {found}, this version reads {_SCHEMA}")
        columns, _ = read_tensors(folder / CLIENTS)
        history = read_events(folder)
        last = [path for index, path in snapshots(folder) if index == len(history)]
        arrays = dict(read_snapshot(last[0]).arrays) if last else {}
        clients = Clients(columns.pop("ids", ()), **columns)
    except FileNotFoundError as error:
        raise InputError(f"{folder} is not a run: {Path(error.filename or '').name} is missing") from error
    except InputError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{folder} is damaged: {error}") from error
    states: dict[str, dict[str, np.ndarray]] = {}
    model = arrays.get("model", np.empty(0, np.float32))
    for key, array in arrays.items():
        role, _, name = key.partition(".")
        if role in _ROLES:
            states.setdefault(role, {})[name] = array
    return Run(settings, clients, tuple(history), model, states)


def load_runs(folder: Path) -> list[Run]:
    """The run in this directory, or every run below it that got to a round, in the order of their names."""
    if (folder / CONFIG).exists():
        return [load_run(folder)]
    found = sorted(path.parent for path in folder.glob(f"**/{CONFIG}"))
    if not found:
        raise InputError(f"no run in {folder}; make one with: callup run CONFIG.toml --out {folder}")
    begun = [path for path in found if has_rounds(path)]
    if not begun:
        raise InputError(f"no run in {folder} got to its first round; go on with: callup resume {found[0]}")
    return [load_run(path) for path in begun]


def has_rounds(folder: Path) -> bool:
    """False for a run that was stopped while it started: of its files some are missing or cut short."""
    events = folder / EVENTS
    return events.exists() and events.stat().st_size > 0


def versions() -> dict[str, str]:
    """What the numbers depend on."""
    return {
        "callup": importlib.metadata.version("callup"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
    }
