"""Finished cells on disk: one JSON line each, added whole or not at all, so that nothing is ever run twice."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from callup.core.errors import InputError
from callup.experiments.metrics import Series
from callup.experiments.reproduce.cells import Cell


@dataclass(frozen=True)
class Done:
    """What is kept of a cell: the curve that metrics read, and how long it took."""

    series: Series
    seconds: float
    values: Mapping[str, float] = field(default_factory=dict)
    """What a study found."""


class Results:
    """The finished cells of a paper; `add` appends to the file of one table."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._done: dict[str, Done] = {}
        for path in sorted(folder.glob("*.jsonl")):
            self._read(path)

    def __len__(self) -> int:
        return len(self._done)

    def get(self, cell: Cell) -> Done | None:
        return self._done.get(cell.key)

    def missing(self, cells: Iterable[Cell]) -> list[Cell]:
        return [cell for cell in cells if cell.key not in self._done]

    def add(self, table: str, cell: Cell, done: Done, command: str) -> None:
        """One line, forced to the disk before the next cell counts as done."""
        line: dict[str, Any] = {
            "key": cell.key,
            "kind": cell.kind,
            "settings": cell.identity,
            "versions": cell.versions,
            "series": _packed(done.series, cell.settings.rare_classes),
            "seconds": round(done.seconds, 1),
            "values": {name: _short(value) for name, value in done.values.items()},
            "command": command,
        }
        text = json.dumps(line, allow_nan=False, separators=(",", ":")) + "\n"
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{table}.jsonl"
        with path.open("ab") as file:
            _cut_torn_line(path)
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        # As it will be read again: a table printed now equals the one printed from the file.
        self._done[cell.key] = _done(line)

    def _read(self, path: Path) -> None:
        try:
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path} is damaged: {error}") from error
        for number, line in enumerate(lines, 1):
            if not line.endswith("\n"):
                continue  # cut off while it was written: that cell is run again
            try:
                values = json.loads(line)
                self._done[str(values["key"])] = _done(values)
            except (ValueError, TypeError, KeyError, InputError) as error:
                raise InputError(
                    f"{path}, line {number} is damaged ({type(error).__name__}: {error}); delete the line and run again"
                ) from error


def _done(line: Mapping[str, Any]) -> Done:
    found = {str(name): float(value) for name, value in line.get("values", {}).items()}
    return Done(_unpacked(line["series"]), float(line["seconds"]), found)


def _cut_torn_line(path: Path) -> None:
    """Takes away the rest of a line that was cut off, so that the next one starts on its own."""
    whole = path.read_bytes()
    end = whole.rfind(b"\n") + 1
    if end < len(whole):
        os.truncate(path, end)


def _packed(series: Series, rare: Sequence[int]) -> dict[str, Any]:
    """The curve in few bytes: five digits of everything, since a test set of 10,000 has no more to say; recall of
    rare classes alone; no clock, which no published table reads."""
    index = list(series.index)
    step = index[1] - index[0] if len(index) > 1 else 1
    regular = bool(index) and index == list(range(index[0], index[-1] + 1, step))
    return {
        "rounds": series.rounds,
        "tested": {"first": index[0], "step": step} if regular else index,
        "accuracy": [_short(value) for value in series.accuracy],
        "recall": {str(label): [_maybe(row[label]) for row in series.recall] for label in rare if series.recall},
        "classes": len(series.recall[0]) if series.recall else 0,
        "qcid": None if series.qcid is None else _short(series.qcid),
        **({"validation": [_short(value) for value in series.validation]} if series.validation else {}),
    }


def _unpacked(values: Mapping[str, Any]) -> Series:
    tested, count = values["tested"], len(values["accuracy"])
    index = [tested["first"] + tested["step"] * i for i in range(count)] if isinstance(tested, dict) else tested
    recall: list[list[float | None]] = []
    if values["recall"]:
        recall = [[None] * values["classes"] for _ in range(count)]
        for label, column in values["recall"].items():
            for row, value in zip(recall, column, strict=True):
                row[int(label)] = value
    return Series.from_plain({**values, "index": index, "clock": [0.0] * count, "recall": recall})


def _maybe(value: float | None) -> float | None:
    return None if value is None else _short(value)


def _short(value: float) -> float:
    return float(f"{value:.5g}")


class Shelf:
    """The results of each paper, read once: beside the paper, or all in one folder."""

    def __init__(self, folder: Path, beside: bool) -> None:
        self._folder, self._beside = folder, beside
        self._papers: dict[str, Results] = {}

    def of(self, paper: str) -> Results:
        if paper not in self._papers:
            place = self._folder / paper / "results" if self._beside else self._folder / paper
            self._papers[paper] = Results(place)
        return self._papers[paper]
