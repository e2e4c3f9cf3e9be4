"""What a method goes by, where it can go by one thing or another: told as a note of each selection, and read back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby

_PREFIX = "by_"
_MOST = 3  # changes that are spelled out


def goes_by(signal: str | None) -> dict[str, float]:
    """The note; none where nothing is known yet."""
    return {} if signal is None else {f"{_PREFIX}{signal}": 1.0}


def told_by(notes: Mapping[str, float]) -> str | None:
    """The signal that the note names."""
    return next((name.removeprefix(_PREFIX) for name in notes if name.startswith(_PREFIX)), None)


def went_by(rounds: Iterable[tuple[int, Mapping[str, float]]]) -> str:
    """Over a run, from the index and notes of each round: `label_counts`, or `update from round 2`; else empty."""
    said = [(index, told_by(notes)) for index, notes in rounds]
    stretches = [(signal, next(own)[0]) for signal, own in groupby(said, key=lambda one: one[1])]
    named = list(dict.fromkeys(signal for signal, _ in stretches if signal))
    if len(named) < 2 and len(stretches) == len(named):
        return "".join(named)
    if len(stretches) > _MOST:
        return " and ".join(named)
    return ", ".join(f"{signal} from round {first}" for signal, first in stretches if signal)
