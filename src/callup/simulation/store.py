"""A run on disk: settings as TOML, one JSON line a round, arrays as safetensors. Nothing in it runs code."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
import platform
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from callup.core.clients import Clients
from callup.core.errors import InputError
from callup.simulation.run import Ledger, RoundRecord, Run

_SCHEMA = 1
_PROFILE = ("num_examples", "label_counts", "latency")


class RunWriter:
    """Writes a run as it happens: what is known at the start, then a line for each round, then the end state."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._events = folder / "events.jsonl"

    def start(self, settings: Mapping[str, Any], clients: Clients) -> None:
        body = {"schema": _SCHEMA, **settings, "versions": versions()}
        (self.folder / "config.toml").write_text(to_toml(body), encoding="utf-8")
        columns = {name: np.array(clients.all(name)) for name in _PROFILE if name in clients}
        save_file({"ids": clients.ids.copy(), **columns}, self.folder / "clients.safetensors")
        self._events.write_text("", encoding="utf-8")

    def round(self, record: RoundRecord) -> None:
        with self._events.open("a", encoding="utf-8") as file:
            file.write(json.dumps(dataclasses.asdict(record), allow_nan=False) + "\n")

    def finish(self, run: Run) -> None:
        arrays = {"model": np.ascontiguousarray(run.model)}
        for role, state in run.states.items():
            arrays |= {f"{role}.{name}": np.ascontiguousarray(array) for name, array in state.items()}
        save_file(arrays, self.folder / f"state-{len(run.history):06d}.safetensors")


def save_run(run: Run, folder: Path) -> Path:
    """A finished run as a directory."""
    writer = RunWriter(folder)
    writer.start(run.settings, run.clients)
    for record in run.history:
        writer.round(record)
    writer.finish(run)
    return folder


def load_run(folder: Path) -> Run:
    """A run from its directory; one that was interrupted has the rounds it got to and no end state."""
    try:
        settings = tomllib.loads((folder / "config.toml").read_text(encoding="utf-8"))
        columns = load_file(folder / "clients.safetensors")
        lines = (folder / "events.jsonl").read_text(encoding="utf-8").splitlines()
        saved = sorted(folder.glob("state-*.safetensors"))
        arrays = load_file(saved[-1]) if saved else {}
    except FileNotFoundError as error:
        raise InputError(f"{folder} is not a run: {Path(error.filename or '').name} is missing") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, SafetensorError) as error:
        raise InputError(f"{folder} is damaged: {error}") from error
    found = settings.pop("schema", None)
    if found != _SCHEMA:
        raise InputError(f"{folder} has run schema {found}, this version reads {_SCHEMA}")
    clients = Clients(columns.pop("ids"), **columns)
    history = tuple(_record(line, folder, number) for number, line in enumerate(_whole(lines), 1))
    states: dict[str, dict[str, np.ndarray]] = {}
    model = arrays.pop("model", np.empty(0, np.float32))
    for key, array in arrays.items():
        role, _, name = key.partition(".")
        states.setdefault(role, {})[name] = array
    return Run(settings, clients, history, model, states)


def load_runs(folder: Path) -> list[Run]:
    """The run in this directory, or every run below it, in the order of their names."""
    if (folder / "config.toml").exists():
        return [load_run(folder)]
    found = sorted(path.parent for path in folder.glob("**/config.toml"))
    if not found:
        raise InputError(f"no run in {folder}; make one with: callup run CONFIG.toml --out {folder}")
    return [load_run(path) for path in found]


def versions() -> dict[str, str]:
    """What the numbers depend on."""
    return {
        "callup": importlib.metadata.version("callup"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
    }


def to_toml(values: Mapping[str, Any]) -> str:
    """Plain values as TOML: tables one level deep, after everything else."""
    plain = [f"{_key(k)} = {_value(v)}" for k, v in values.items() if not isinstance(v, Mapping)]
    for name, table in values.items():
        if isinstance(table, Mapping) and table:
            plain += ["", f"[{_key(name)}]", *(f"{_key(k)} = {_value(v)}" for k, v in table.items())]
    return "\n".join(plain) + "\n"


def _key(name: str) -> str:
    return name if name and all(c.isascii() and (c.isalnum() or c in "_-") for c in name) else json.dumps(name)


def _value(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(v) for v in value) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    # A JSON string is a TOML string but for DEL, which TOML wants escaped.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _whole(lines: list[str]) -> list[str]:
    """Without a last line that was cut off while being written."""
    if not lines:
        return lines
    try:
        json.loads(lines[-1])
    except json.JSONDecodeError:
        return lines[:-1]
    return lines


def _record(line: str, folder: Path, number: int) -> RoundRecord:
    try:
        values = json.loads(line)
        return RoundRecord(**{**values, "ledger": Ledger(**values["ledger"])})
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{folder / 'events.jsonl'}, line {number} is damaged: {error}") from error
