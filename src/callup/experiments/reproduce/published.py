"""The published rows: what a paper prints, one CSV line a number."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from callup.core.errors import InputError

COLUMNS = (
    *("measure", "unit", "dataset", "environment", "method"),
    *("value", "std", "repeats", "needs_training", "censored", "note"),
)


@dataclass(frozen=True)
class Published:
    """One printed number. `std` and `repeats` are None where the paper does not give them."""

    measure: str
    unit: str
    dataset: str
    environment: str
    method: str
    value: float
    std: float | None
    repeats: int | None
    needs_training: bool
    censored: bool
    """The target was not reached: the value is the horizon."""
    note: str
    digits: int
    """Decimals as printed; the last one is rounded."""

    @property
    def place(self) -> tuple[str, str, str]:
        return self.measure, self.environment, self.method


def read_published(path: Path) -> tuple[Published, ...]:
    """All rows of a table; a damaged file is told by line."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = list(csv.DictReader(file, strict=True))
            found = tuple(lines[0]) if lines else COLUMNS
    except FileNotFoundError as error:
        raise InputError(f"{path} is missing: every table has its published rows beside its settings") from error
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} is damaged: {error}") from error
    if found != COLUMNS:
        raise InputError(f"{path}: the columns must be {', '.join(COLUMNS)}")
    return tuple(_row(line, path, number) for number, line in enumerate(lines, 2))


def _row(line: dict[str, str], path: Path, number: int) -> Published:
    try:
        if None in line or any(value is None for value in line.values()):
            raise ValueError(f"it must have {len(COLUMNS)} fields")
        return Published(
            measure=line["measure"],
            unit=line["unit"],
            dataset=line["dataset"],
            environment=line["environment"],
            method=line["method"],
            value=float(line["value"]),
            std=float(line["std"]) if line["std"] else None,
            repeats=int(line["repeats"]) if line["repeats"] else None,
            needs_training=_yes(line["needs_training"]),
            censored=_yes(line["censored"]),
            note=line["note"],
            digits=len(line["value"].partition(".")[2]),
        )
    except ValueError as error:
        raise InputError(f"{path}, line {number} is damaged: {error}") from error


def _yes(text: str) -> bool:
    if text not in ("yes", "no"):
        raise ValueError(f"expected yes or no, got '{text}'")
    return text == "yes"
