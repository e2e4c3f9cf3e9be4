"""A run's folder, read again and again: of the rounds only what was added since."""

from __future__ import annotations

import json
import os
import time
import tomllib
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from callup.core.clients import Clients
from callup.core.errors import InputError
from callup.journal.disk import read_text
from callup.journal.tensors import read_tensors
from callup.simulation.events import NAME
from callup.simulation.records import record_from
from callup.simulation.run import RoundRecord, Run
from callup.simulation.store import CLIENTS, CONFIG

_TEMPO = 20  # rounds that the speed is taken from


class LiveRun:
    """`refresh` looks whether there is news; everything else is as of the last look."""

    def __init__(self, folder: Path) -> None:
        if not (folder / CONFIG).is_file():
            raise InputError(f"no run in {folder} yet; start one with: callup run CONFIG.toml --out {folder}")
        self.folder = folder
        self.settings: Mapping[str, Any] = {}
        self.history: list[RoundRecord] = []
        self.version = 0
        """Raised with every change."""
        self._clients: Clients | None = None
        self._stamps: tuple[object, ...] = ()
        self._read = 0
        self._seen: deque[tuple[float, int]] = deque(maxlen=_TEMPO)
        self.refresh()

    def refresh(self) -> bool:
        """Whether anything changed. A file that is just being replaced is left for the next look."""
        stamps = tuple(_stamp(self.folder / name) for name in (CONFIG, CLIENTS, NAME))
        if stamps == self._stamps:
            return False
        if stamps[:2] != self._stamps[:2]:
            self._read_head()
        self._read_rounds()
        self._stamps = stamps
        self.version += 1
        self._seen.append((time.monotonic(), len(self.history)))
        return True

    @property
    def planned(self) -> int | None:
        rounds = self.settings.get("rounds")
        return rounds if isinstance(rounds, int) else None

    @property
    def seconds_a_round(self) -> float | None:
        """Measured while watching; None before two looks saw rounds."""
        (before, first), (now, last) = self._seen[0], self._seen[-1]
        return (now - before) / (last - first) if last > first else None

    @property
    def quiet_for(self) -> float:
        """Seconds since the last round was written."""
        stamp = _stamp(self.folder / NAME) or _stamp(self.folder / CONFIG)
        return max(time.time() - stamp[0] / 1e9, 0.0) if stamp else 0.0

    @property
    def finished(self) -> bool:
        return self.planned is not None and len(self.history) >= self.planned

    @property
    def run(self) -> Run | None:
        """As reports want it; None before the clients are known."""
        if self._clients is None:
            return None
        return Run(self.settings, self._clients, tuple(self.history), np.empty(0, np.float32), {})

    def _read_head(self) -> None:
        try:
            self.settings = tomllib.loads(read_text(self.folder / CONFIG))
            if (self.folder / CLIENTS).exists():
                columns, _ = read_tensors(self.folder / CLIENTS)
                self._clients = Clients(columns.pop("ids", ()), **columns)
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(f"{self.folder} is damaged: {error}") from error

    def _read_rounds(self) -> None:
        path = self.folder / NAME
        if not path.exists():
            return
        if path.stat().st_size < self._read:  # written anew after a crash
            self._read, self.history = 0, []
        with path.open("rb") as file:
            file.seek(self._read)
            added = file.read()
        whole = added[: added.rfind(b"\n") + 1]  # the rest of a line comes with the next look
        for line in whole.splitlines():
            try:
                values = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InputError(f"{path}, round {len(self.history) + 1} is damaged: {error}") from error
            self.history.append(record_from(values, f"{path}, round {len(self.history) + 1}"))
        self._read += len(whole)


def runs_below(folder: Path) -> dict[str, Path]:
    """The run in this folder under the name `.`, or every run below it by its place."""
    if (folder / CONFIG).is_file():
        return {".": folder}
    found = sorted(path.parent for path in folder.glob(f"**/{CONFIG}"))
    if not found:
        raise InputError(f"no run in {folder} yet; start one with: callup run CONFIG.toml --out {folder}")
    return {path.relative_to(folder).as_posix(): path for path in found}


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
