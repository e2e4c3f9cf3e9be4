"""Files from outside are data: they run no code, take no memory they do not have, and are refused by name."""

from __future__ import annotations

import json
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path

from callup.core.errors import CallupError
from callup.experiments.selftest.finding import Seen
from callup.simulation.engine import simulate
from callup.simulation.run import Run
from callup.simulation.settings import read_settings
from callup.simulation.store import load_run

_CANARY = "callup-canary"


def files(folder: Path) -> Seen:
    """A run directory whose parts are swapped for hostile ones, one at a time."""
    good = simulate(partition="iid:clients=6", k=2, rounds=2, local={"epochs": 1})
    cases, failures = 0, []
    for name, part, write in _HOSTILE:
        home = folder / name.replace(" ", "-")
        good.save(home)
        write(home / part if part else sorted(home.glob("state-*.safetensors"))[-1], folder)
        cases += 1
        problem = _refused(home)
        if problem is None and (folder / _CANARY).exists():
            problem = "it ran code"
        if problem:
            failures.append(f"{name}: {problem}")
    return Seen(f"{cases} hostile files, {len(failures)} not refused", cases, tuple(failures))


def _refused(home: Path) -> str | None:
    """None when reading it ends in a documented error and little memory; otherwise what happened."""
    tracemalloc.start()
    try:
        read_settings(home / "config.toml")
        found: Run = load_run(home)
        return f"it was read as {len(found.history)} rounds"
    except CallupError:
        peak = tracemalloc.get_traced_memory()[1]
        return f"it took {peak / 1e6:.0f} MB" if peak > 50e6 else None
    except Exception as leaked:
        return f"{type(leaked).__name__}: {leaked}"
    finally:
        tracemalloc.stop()


def _bomb(path: Path, folder: Path) -> None:  # noqa: ARG001
    """A header that announces 20 GB and brings 8 bytes."""
    header = json.dumps({"model": {"dtype": "F32", "shape": [5_000_000_000], "data_offsets": [0, 20_000_000_000]}})
    path.write_bytes(struct.pack("<Q", len(header)) + header.encode() + bytes(8))


def _long_header(path: Path, folder: Path) -> None:  # noqa: ARG001
    """A header that says it is 20 GB long itself."""
    path.write_bytes(struct.pack("<Q", 20_000_000_000) + b"{}")


def _program(path: Path, folder: Path) -> None:
    """What a pickle that creates a file looks like, under another name."""
    path.write_bytes(b"cposix\nsystem\n(S'touch " + str(folder / _CANARY).encode() + b"'\ntR.")


def _deep(path: Path, folder: Path) -> None:  # noqa: ARG001
    path.write_text("[" * 100_000, encoding="utf-8")


def _cut(path: Path, folder: Path) -> None:  # noqa: ARG001
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _torn(path: Path, folder: Path) -> None:  # noqa: ARG001
    path.write_text(path.read_text(encoding="utf-8") + '\nname = "half a wo', encoding="utf-8")


_HOSTILE: list[tuple[str, str, Callable[[Path, Path], None]]] = [
    ("clients that announce 20 GB", "clients.safetensors", _bomb),
    ("a state that announces 20 GB", "", _bomb),
    ("a header of 20 GB", "clients.safetensors", _long_header),
    ("a pickle named safetensors", "clients.safetensors", _program),
    ("a pickle as state", "", _program),
    ("settings nested without end", "config.toml", _deep),
    ("half of the clients", "clients.safetensors", _cut),
    ("settings that end in the middle of a word", "config.toml", _torn),
]
