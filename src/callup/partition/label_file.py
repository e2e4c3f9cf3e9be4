"""Label counts from a file: a line for each client, a line for each client and class, or JSON."""

from __future__ import annotations

import csv
import json
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from callup.core.clients import Clients
from callup.core.errors import InputError

_MOST_BYTES = 4_000_000_000
_WANTED = "client,CLASS,CLASS,... with a line for each client, or client,label,count with a line for each pair"

Lines = Iterator[tuple[int, list[str]]]
"""Numbers of lines and their cells."""


@dataclass(frozen=True)
class LabelTable:
    """Who holds how many samples of what."""

    clients: Clients
    """With label_counts."""
    names: tuple[str, ...]
    """Of clients, in the order of their ids; where the file has names that are no whole numbers, ids count them."""
    classes: tuple[str, ...]

    @property
    def counts(self) -> np.ndarray:
        return self.clients.all("label_counts")


def read_labels(path: Path) -> LabelTable:
    """Refuses what it cannot read by line and column; nothing is guessed or left out."""
    if path.exists() and path.stat().st_size > _MOST_BYTES:
        raise InputError(f"{path} is larger than {_MOST_BYTES // 10**9} GB, which label counts never are")
    try:
        return _from_json(path) if path.suffix == ".json" else _from_csv(path)
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text; label counts are read from CSV and JSON") from error
    except csv.Error as error:
        raise InputError(f"{path} is no CSV: {error}") from error


def _from_csv(path: Path) -> LabelTable:
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        lines = ((reader.line_num, line) for line in reader if line)
        head = [cell.strip() for cell in next(lines, (0, [""]))[1]]
        if {"client", "label"} <= set(head) <= {"client", "label", "count"}:
            return _by_pair(path, head, lines)
        if head[0] != "client" or len(head) < 3 or len(set(head)) < len(head):
            raise InputError(f"{path}: the first line must be {_WANTED}")
        return _by_client(path, head, lines)


def _by_client(path: Path, head: Sequence[str], lines: Lines) -> LabelTable:
    first: dict[str, int] = {}
    counts = array("q")
    for number, line in lines:
        if len(line) != len(head):
            raise InputError(f"{path}, line {number} has {len(line)} columns, the first line {len(head)}")
        name = line[0].strip()
        if name in first:
            raise InputError(f"{path}, line {number}: client {name} was in line {first[name]} already")
        first[name] = number
        try:
            counts.extend(map(int, line[1:]))
        except (ValueError, OverflowError) as error:
            wrong = next((n for n in range(1, len(line)) if not _is_count(line[n])), 1)
            raise InputError(_no_count(path, number, head[wrong], line[wrong])) from error
    table = np.frombuffer(counts, np.int64).reshape(-1, len(head) - 1)
    if len(table) and table.min() < 0:
        row, column = np.argwhere(table < 0)[0]
        number = list(first.values())[row]
        raise InputError(_no_count(path, number, head[column + 1], str(table[row, column])))
    return _table(path, list(first), head[1:], table)


def _by_pair(path: Path, head: Sequence[str], lines: Lines) -> LabelTable:
    who, what = head.index("client"), head.index("label")
    how_many = head.index("count") if "count" in head else None
    clients: dict[str, int] = {}
    labels: dict[str, int] = {}
    rows, columns, counts = array("q"), array("q"), array("q")
    for number, line in lines:
        if len(line) != len(head):
            raise InputError(f"{path}, line {number} has {len(line)} columns, the first line {len(head)}")
        if how_many is not None and not _is_count(line[how_many]):
            raise InputError(_no_count(path, number, "count", line[how_many]))
        rows.append(clients.setdefault(line[who].strip(), len(clients)))
        columns.append(labels.setdefault(line[what].strip(), len(labels)))
        counts.append(1 if how_many is None else int(line[how_many]))
    names = sorted(labels, key=lambda name: (not name.isdecimal(), int(name) if name.isdecimal() else 0, name))
    place = np.empty(len(labels), np.int64)
    place[[labels[name] for name in names]] = np.arange(len(names))
    table = np.zeros((len(clients), len(labels)), np.int64)
    np.add.at(table, (np.frombuffer(rows, np.int64), place[np.frombuffer(columns, np.int64)]), counts)
    return _table(path, list(clients), names, table)


def _from_json(path: Path) -> LabelTable:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        ids, counts = found["ids"], found["label_counts"]
        clients = Clients(ids, label_counts=counts)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{path}: expected an object with ids and label_counts") from error
    width = clients.all("label_counts").shape[1]
    return LabelTable(clients, tuple(map(str, clients.ids.tolist())), tuple(map(str, range(width))))


def _table(path: Path, names: list[str], classes: Sequence[str], counts: np.ndarray) -> LabelTable:
    if not names:
        raise InputError(f"{path} names no client; after the first line one follows for each")
    numbers = [int(name) for name in names if name.isdecimal() and len(name) < 19]
    ids = np.array(numbers) if len(set(numbers)) == len(names) else np.arange(len(names))
    order = np.argsort(ids, kind="stable")
    try:
        clients = Clients(ids, label_counts=counts)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    return LabelTable(clients, tuple(names[row] for row in order), tuple(classes))


def _is_count(cell: str) -> bool:
    return cell.strip().isdecimal() and int(cell) < 2**62


def _no_count(path: Path, number: int, column: str, cell: str) -> str:
    return f"{path}, line {number}, column {column}: counts are whole numbers from 0 on, got '{cell.strip()}'"
