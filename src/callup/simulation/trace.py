"""Reads who is online when from a JSON file, and says in one sentence what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from callup.core.errors import InputError
from callup.core.index import Ids
from callup.simulation.json_file import read_json


@dataclass(frozen=True)
class Timetable:
    """Client `ids[i]` is online from round `first[i]` to round `last[i]`; a client may occur more than once."""

    ids: Ids
    first: np.ndarray
    last: np.ndarray
    rounds: int
    """The last round the trace speaks of."""

    def online(self, index: int) -> Ids:
        return np.unique(self.ids[(self.first <= index) & (index <= self.last)])


def read_trace(file: str) -> Timetable:
    """{"rounds": {"1": [0, 3], "2": []}} or {"clients": {"0": [[1, 5], [9, 9]]}}; rounds count from 1."""
    content = read_json(file)
    if not isinstance(content, dict) or len(content) != 1 or not content.keys() <= {"rounds", "clients"}:
        raise InputError(f'{file} must hold {{"rounds": ...}} or {{"clients": ...}} and nothing else')
    kind, table = next(iter(content.items()))
    if not isinstance(table, dict) or not table:
        raise InputError(f"{file}: '{kind}' must map numbers to lists and must not be empty")
    numbered = {_number(file, kind, key): value for key, value in table.items()}
    spans = _by_round(file, numbered) if kind == "rounds" else _by_client(file, numbered)
    if not spans:
        raise InputError(f"{file}: no client is ever online")
    ids, first, last = np.array(spans, np.int64).T
    return Timetable(ids, first, last, max(numbered) if kind == "rounds" else int(last.max()))


def _by_round(file: str, table: dict[int, Any]) -> list[tuple[int, int, int]]:
    for index, given in enumerate(sorted(table), start=1):
        if index != given:
            raise InputError(f"{file} leaves out round {index}; write an empty list if nobody is online")
    for index, ids in table.items():
        if not isinstance(ids, list) or not all(_whole(i, 0) for i in ids):
            raise InputError(f"{file}: round {index} must be a list of client ids, whole numbers from 0")
    return [(client, index, index) for index, ids in table.items() for client in ids]


def _by_client(file: str, table: dict[int, Any]) -> list[tuple[int, int, int]]:
    for client, spans in table.items():
        if not isinstance(spans, list) or not all(_span(span) for span in spans):
            raise InputError(f"{file}: client {client} must be a list of [first, last] rounds, counted from 1")
    return [(client, first, last) for client, spans in table.items() for first, last in spans]


def _number(file: str, kind: str, key: str) -> int:
    lowest = 1 if kind == "rounds" else 0
    if not (key.isascii() and key.isdigit() and len(key) < 19 and str(int(key)) == key and int(key) >= lowest):
        raise InputError(f"{file}: '{key}' under '{kind}' must be a whole number from {lowest}")
    return int(key)


def _span(span: Any) -> bool:
    return isinstance(span, list) and len(span) == 2 and all(_whole(i, 1) for i in span) and span[0] <= span[1]


def _whole(value: Any, lowest: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and lowest <= value < 2**63
