"""A round's record as plain values and as an entry of the journal, and back; what does not fit is refused."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from callup.core.clients import Clients
from callup.core.errors import InputError
from callup.journal.entries import Entry
from callup.journal.turns import Turn, played, record_turn
from callup.simulation.run import Ledger, RoundRecord

_TOLD_BY_THE_TURN = ("index", "asked", "used", "kept", "failed")


def entry_of(record: RoundRecord, turn: Turn, profile: Clients) -> Entry:
    """Everything about a round, once: what the turn tells is not written again."""
    facts, arrays = record_turn(turn, profile)
    body = dataclasses.asdict(record)
    for name in _TOLD_BY_THE_TURN:
        del body[name]
    arrays["kept"] = np.isin(record.used, record.kept)
    return Entry(record.index, {**facts, "record": body}, arrays)


def record_in(entry: Entry, profile: Clients) -> RoundRecord:
    """The record of an entry."""
    turn = played(entry.number, entry.facts, entry.arrays, profile)
    kept, body = entry.arrays.get("kept"), entry.facts.get("record")
    if kept is None or kept.shape != turn.replied.shape or not isinstance(body, dict):
        raise InputError(f"entry {entry.number} of the journal holds no record")
    told = {
        "index": turn.index,
        "asked": turn.asked.tolist(),
        "used": turn.replied.tolist(),
        "kept": turn.replied[kept.astype(bool)].tolist(),
        "failed": {str(client): why for client, why in turn.failed.items()},
    }
    return record_from({**body, **told}, f"entry {entry.number} of the journal")


def record_from(values: Any, where: str) -> RoundRecord:
    """A record from values that came out of a file: every field of its own kind, none missing, none unknown."""
    if not isinstance(values, Mapping):
        raise InputError(f"{where} is damaged: it is not a record")
    for name, value in values.items():
        fits = _FITS.get(name)
        if fits is None or not fits(value):
            wrong = "unknown" if fits is None else "not as it should be"
            raise InputError(f"{where} is damaged: {str(name)[:40]} is {wrong}")
    try:
        return RoundRecord(**{**values, "ledger": Ledger(**values["ledger"])})
    except (TypeError, KeyError) as error:
        raise InputError(f"{where} is damaged: {error}") from error


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def _count(value: Any) -> bool:
    return _whole(value) and value >= 0


def _number(value: Any) -> bool:
    return _whole(value) or (isinstance(value, float) and math.isfinite(value))


def _maybe(value: Any) -> bool:
    return value is None or _number(value)


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _list(item: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(item, value))


def _table(item: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(_text(key) and item(entry) for key, entry in value.items())


_FITS: dict[str, Callable[[Any], bool]] = {
    "index": lambda value: _whole(value) and value >= 1,
    "available": _count,
    **dict.fromkeys(("asked", "used", "kept", "class_counts"), _list(_count)),
    "failed": _table(_text),
    "digest": _text,
    "abandoned": lambda value: isinstance(value, bool),
    **dict.fromkeys(("qcid", "accuracy", "loss", "validation_accuracy", "validation_loss"), _maybe),
    "recall": lambda value: value is None or _list(_maybe)(value),
    "notes": _table(_number),
    "guard": _list(_text),
    **dict.fromkeys(("seconds", "clock"), _number),
    "ledger": _table(_count),
}
