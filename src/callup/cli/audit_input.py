"""The label counts of a federation: from a file of one's own, from a run, or made up by a partition."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np

from callup.cli.terminal import say
from callup.core.clients import Clients
from callup.core.errors import InputError
from callup.core.randomness import stream
from callup.partition.scheme import PARTITIONS

_MOST_BYTES = 100_000_000
_MOST_CLIENTS = 1000


def read_federation(path: Path) -> tuple[Clients, str | None]:
    """The clients, and the privacy mode of the run where it is one.

    A run's folder; CSV with a column `client` and one for each class; or JSON with `ids` and `label_counts`.
    """
    if path.is_dir():
        from callup.simulation.store import load_run

        run = load_run(path)
        return run.clients, str(run.settings.get("privacy", "plain"))
    if path.exists() and path.stat().st_size > _MOST_BYTES:
        raise InputError(f"{path} is larger than {_MOST_BYTES // 10**6} MB, which label counts never are")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text") from error
    return _from_json(path, text) if path.suffix == ".json" else _from_csv(path, text), None


def simulated_federation(partition: str, samples: int, classes: int, seed: int) -> Clients:
    """Labels alone, equally many of each class, spread by a partition."""
    labels = np.arange(samples) % classes
    shards = PARTITIONS.make(partition).split(labels, classes, stream(seed, "partition"))
    return Clients(shards.ids, label_counts=shards.label_counts(labels, classes))


def some_of(clients: Clients, seed: int) -> Clients:
    """The clients, or of very many a random thousand: enough to see what leaks."""
    if len(clients) <= _MOST_CLIENTS:
        return clients
    say(f"of {len(clients):,} clients a random {_MOST_CLIENTS:,} are audited")
    rows = np.sort(stream(seed, "audit", "sample").choice(len(clients), _MOST_CLIENTS, replace=False))
    return Clients(clients.ids[rows], label_counts=clients.all("label_counts")[rows])


def _from_csv(path: Path, text: str) -> Clients:
    try:
        lines = [line for line in csv.reader(text.splitlines()) if line]
    except csv.Error as error:
        raise InputError(f"{path} is no CSV: {error}") from error
    if len(lines) < 2 or lines[0][0].strip() != "client" or len(lines[0]) < 3:
        raise InputError(f"{path}: the first line must be client,CLASS,CLASS,... and one line for each client follow")
    rows = []
    for number, line in enumerate(lines[1:], 2):
        try:
            rows.append([int(cell) for cell in line])
        except ValueError as error:
            raise InputError(f"{path}, line {number}: ids and counts are whole numbers") from error
        if len(line) != len(lines[0]):
            raise InputError(f"{path}, line {number} has {len(line)} columns, the first line {len(lines[0])}")
    table = np.array(rows)
    return Clients(table[:, 0], label_counts=table[:, 1:])


def _from_json(path: Path, text: str) -> Clients:
    try:
        found = json.loads(text)
        ids, counts = found["ids"], found["label_counts"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{path}: expected an object with ids and label_counts") from error
    try:
        return Clients(ids, label_counts=counts)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
