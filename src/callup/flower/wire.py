"""What travels between server and clients beside Flower's own records: one ConfigRecord, which strategies ignore."""

from __future__ import annotations

from typing import Any

import numpy as np
from flwr.app import ConfigRecord, Message, RecordDict

from callup.core.errors import InputError
from callup.core.signals import SIGNALS, Signal, signal

KEY = "callup"
"""The name of the record."""
QUERY = "query.callup"
"""The type of the messages that ask."""
WANT, HELLO, SERVER_ROUND, SECONDS = "want", "hello", "server-round", "seconds"
CLIENT_ID, PARTITION_ID, ANSWERS, TAG = "client-id", "partition-id", "answers", "tag."
MOST_NUMBERS = 1 << 28  # a row longer than this is no answer but an attack on the server's memory


def pack(name: str, value: Any) -> float | bytes:
    """A fact as a ConfigRecord holds it: a number, or the bytes of a row."""
    known = signal(name)
    array = np.asarray(value, np.float64)
    if known.shape == "number":
        if array.ndim != 0:
            raise InputError(f"{name} must be one number, got shape {array.shape}")
        return float(array)
    if array.ndim != 1:
        raise InputError(f"{name} must be one row of numbers, got shape {array.shape}")
    return array.astype(_kind(known)).tobytes()


def unpack(name: str, value: Any) -> np.ndarray:
    """The fact again, as float64; what cannot be one is refused in a sentence."""
    known = signal(name)
    if known.shape == "number":
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise InputError(f"{name} must be a number, got {type(value).__name__}")
        row = np.asarray(value, np.float64)
    else:
        if not isinstance(value, bytes) or len(value) % _kind(known).itemsize or len(value) > MOST_NUMBERS:
            raise InputError(f"{name} must be a row of numbers as bytes, got {type(value).__name__}")
        row = np.frombuffer(value, _kind(known)).astype(np.float64)
    if not np.isfinite(row).all() or (known.lowest is not None and (row < known.lowest).any()):
        floor = "" if known.lowest is None else f" of at least {known.lowest:g}"
        raise InputError(f"{name} must be finite{floor}, got {_first_bad(row, known.lowest)}")
    return row


def note_of(content: RecordDict) -> ConfigRecord:
    """The record of ours in a message, empty where there is none."""
    found = content.get(KEY)
    return found if isinstance(found, ConfigRecord) else ConfigRecord()


def seconds_of(reply: Message) -> float | None:
    """How long the client says it took."""
    told = None if reply.has_error() else note_of(reply.content).get(SECONDS)
    return told if isinstance(told, float) and 0 < told < float("inf") else None


def without_note(content: RecordDict) -> RecordDict:
    """The message as strategies and clients know it."""
    return RecordDict({name: record for name, record in content.items() if name != KEY})


def is_vector(name: str) -> bool:
    return SIGNALS[name].shape == "row"


def _kind(known: Signal) -> np.dtype[Any]:
    # Gradients are as long as the model: four bytes a number are enough for them.
    return np.dtype("<f4") if known.name == "gradient" else np.dtype("<f8")


def _first_bad(row: np.ndarray, lowest: float | None) -> float:
    flat = np.atleast_1d(row)
    bad = ~np.isfinite(flat) | (flat < (-np.inf if lowest is None else lowest))
    return float(flat[bad][0])
