"""Reads how fast each client is from a JSON file, and says in one sentence what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from callup.core.errors import InputError
from callup.core.index import Ids, Index
from callup.simulation.json_file import read_json

_KINDS = ("seconds_per_step", "factors")


@dataclass(frozen=True)
class Paces:
    """One table of a file: a number, or a number for each round, of every client it names."""

    where: str
    """The file and the table, for messages."""
    index: Index
    values: np.ndarray

    def of(self, ids: Ids) -> np.ndarray:
        """The entries of these clients; one that is not named is refused."""
        rows, here = self.index.find(ids)
        if not here.all():
            raise InputError(f"{self.where} does not name client {ids[~here][0]}; every client needs an entry")
        return np.asarray(self.values[rows])


def read_paces(file: str) -> tuple[Paces | None, Paces | None]:
    """{"seconds_per_step": {"0": 0.02}} and {"factors": {"0": [1, 1.5]}}, either or both; the second by round."""
    content = read_json(file)
    if not isinstance(content, dict) or not content or not content.keys() <= set(_KINDS):
        raise InputError(f'{file} must hold {{"seconds_per_step": ...}}, {{"factors": ...}} or both, and nothing else')
    speeds, factors = (_table(file, kind, content[kind]) if kind in content else None for kind in _KINDS)
    return speeds, factors


def _table(file: str, kind: str, table: Any) -> Paces:
    where = f"{file}: '{kind}'"
    if not isinstance(table, dict) or not table:
        raise InputError(f"{where} must map client ids to values and must not be empty")
    entries = {_client(where, key): value for key, value in table.items()}
    for client, value in entries.items():
        if kind == "factors":
            if not isinstance(value, list) or not value or not all(map(_positive, value)):
                raise InputError(f"{where}, client {client} must be a list of numbers above 0, one for each round")
        elif not _positive(value):
            raise InputError(f"{where}, client {client} must be a number above 0, got {value!r}")
    if kind == "factors":
        lengths = {client: len(value) for client, value in entries.items()}
        first = next(iter(lengths))
        other = next((c for c, rounds in lengths.items() if rounds != lengths[first]), first)
        if other != first:
            rounds = f"{lengths[first]} for client {first}, {lengths[other]} for client {other}"
            raise InputError(f"{where} must be equally long for all clients, got {rounds}")
    ids = np.array(sorted(entries), np.int64)
    return Paces(where, Index(ids), np.array([entries[i] for i in ids.tolist()], np.float64))


def _client(where: str, key: str) -> int:
    if not (key.isascii() and key.isdigit() and len(key) < 19 and key == str(int(key))):
        raise InputError(f"{where}: '{key}' must be a client id, a whole number from 0")
    return int(key)


def _positive(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e300
