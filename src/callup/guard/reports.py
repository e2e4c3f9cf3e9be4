"""Raw reports, as they come off a wire, sorted into replies that can be used and objections that say why not.

For runtimes whose clients may send anything: a report has to be an answer of this round, by a client that was asked,
sent once, with every field there, of the right shape, finite and in its range.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from callup.core.index import Ids
from callup.core.signals import SIGNALS
from callup.core.types import Replies
from callup.guard.record import Objection

_HIGHEST = {"accuracy": 1.0}
_MOST_EXAMPLES = 1e15  # whole numbers beyond are not exact any more


@dataclass(frozen=True)
class Report:
    """What a client sent; nothing about it has been checked."""

    client: Any
    index: Any
    """The round it answers."""
    model: Any
    num_examples: Any
    local_steps: Any = 0
    signals: Mapping[str, Any] = field(default_factory=dict)


def sorted_out(
    reports: Iterable[Report], index: int, asked: Ids, start: np.ndarray, wants: Iterable[str], known: Ids
) -> tuple[Replies, list[Objection]]:
    """The usable replies in the order they came, and what is wrong with the others.

    `asked` are the clients of this round, `known` all clients, `wants` the signals that every reply has to carry.
    A signal that was not asked for is passed over: one more key is no reason to lose a reply.
    """
    names, good, found = list(wants), dict[int, tuple[np.ndarray, float, float, dict[str, np.ndarray]]](), []
    members, called = set(known.tolist()), set(asked.tolist())
    for report in reports:
        who = _whole(report.client)
        problem = _stranger(report, who, index, members, called) or ("duplicate" if who in good else None)
        if problem:
            found.append(Objection(who, problem, float(_whole(report.index))))
            continue
        model, size, steps = _array(report.model), _number(report.num_examples), _number(report.local_steps)
        signals = {name: _array(report.signals.get(name)) for name in names}
        objection = _malformed(who, model, size, steps, signals, start) or _bad_values(who, model, size, steps, signals)
        if objection is not None:
            found.append(objection)
        elif model is not None and size is not None and steps is not None:
            read = {name: value for name, value in signals.items() if value is not None}
            good[who] = (model.astype(start.dtype), size, steps, read)
    rows = list(good.values())
    return Replies(
        np.fromiter(good, np.int64, len(good)),
        start,
        np.array([row[0] for row in rows], start.dtype).reshape(len(rows), len(start)),
        np.array([row[1] for row in rows]),
        np.array([row[2] for row in rows]),
        {name: np.array([row[3][name] for row in rows]) for name in names} if rows else {},
    ), found


def _stranger(report: Report, who: int, index: int, members: set[int], called: set[int]) -> str | None:
    """Why this report is no answer to what was asked."""
    if who not in members:
        return "unknown client"
    if _whole(report.index) != index:
        return "late"
    return None if who in called else "not asked"


def _malformed(
    who: int,
    model: np.ndarray | None,
    size: float | None,
    steps: float | None,
    signals: Mapping[str, np.ndarray | None],
    start: np.ndarray,
) -> Objection | None:
    shapes = model is not None and model.shape == start.shape and size is not None and steps is not None
    for name, value in signals.items():
        dims = 0 if SIGNALS[name].shape == "number" else 1
        shapes = shapes and value is not None and value.ndim == dims
    for name in ("gradient", "update"):
        value = signals.get(name)
        shapes = shapes and (value is None or value.shape == start.shape)
    return None if shapes else Objection(who, "wrong shape")


def _bad_values(
    who: int, model: Any, size: Any, steps: Any, signals: Mapping[str, np.ndarray | None]
) -> Objection | None:
    values = {"num_examples": np.asarray(size), "local_steps": np.asarray(steps), **signals}
    bad = int((~np.isfinite(model)).sum()) + sum(int((~np.isfinite(np.asarray(v))).sum()) for v in values.values())
    if bad:
        return Objection(who, "not finite", float(bad))
    for name, value in values.items():
        low = 0.0 if name not in SIGNALS else SIGNALS[name].lowest
        high = _MOST_EXAMPLES if name not in SIGNALS or name == "num_examples" else _HIGHEST.get(name, np.inf)
        numbers = np.asarray(value, np.float64)
        outside = numbers[(numbers > high) | (numbers < (-np.inf if low is None else low))]
        if outside.size:
            return Objection(who, "out of range", float(outside.flat[0]))
    return None


def _array(value: Any) -> np.ndarray | None:
    """Numbers, or None for anything else; text, objects and ragged lists are not numbers."""
    try:
        array = np.asarray(value)
    except (ValueError, TypeError):
        return None
    return array.astype(np.float64) if array.dtype.kind in "biuf" else None


def _whole(value: Any) -> int:
    """A whole number that fits into 63 bits; -1, which names no client and no round, for anything else."""
    fits = hasattr(value, "__index__") and not isinstance(value, bool) and 0 <= int(value) < 2**63
    return int(value) if fits else -1


def _number(value: Any) -> float | None:
    array = _array(value)
    return float(array) if array is not None and array.ndim == 0 else None
