"""One round as the selector met it: what it could see, what it asked and heard, whom it named, what came back.

Enough to play the round to a selector again without any client. Clients are written as rows of the roster, so a reply
costs a few bytes beside its signals. Rows of many numbers, such as gradients, are too large to keep: of those the log
holds a digest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from callup.core.clients import Clients
from callup.core.errors import InputError
from callup.core.index import Ids
from callup.core.selector import Arrays
from callup.core.types import Feedback, Round, Selection
from callup.journal.members import pack_members, unpack_members

WIDEST = 256
"""Numbers that one client may send under one name and still be recorded in full."""


@dataclass(frozen=True)
class Turn:
    """What passed between a runtime and its selector in one round. `wanted`: how many it was asked to name."""

    now: Round
    wanted: int
    selection: Selection
    feedback: Feedback


@dataclass(frozen=True)
class Played:
    """A turn as the log tells it."""

    index: int
    clients: Clients
    available: Ids
    wanted: int
    asked: Ids
    replied: Ids
    signals: Arrays
    failed: dict[int, str]
    probed: dict[str, tuple[Ids, np.ndarray]]
    weights: str | None
    """Digest of the aggregation weights, where the selector gave any."""
    dropped: tuple[str, ...]
    """What was too large to record."""


def digest(array: np.ndarray) -> str:
    """Sixteen hexadecimal digits that stand for the numbers in this order."""
    little = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
    return hashlib.sha256(little.tobytes()).hexdigest()[:16]


def record_turn(turn: Turn, profile: Clients) -> tuple[dict[str, Any], Arrays]:
    """As facts and arrays of an entry; `profile` is the table that is kept beside the log."""
    now, feedback, clients = turn.now, turn.feedback, turn.now.clients
    reasons = sorted(set(feedback.failed.values()))
    failed = np.fromiter(feedback.failed, np.int64, len(feedback.failed))
    facts: dict[str, Any] = {"wanted": turn.wanted, "reasons": reasons, "dropped": {}}
    arrays: Arrays = {
        "asked": _rows(clients, turn.selection.ids),
        "replied": _rows(clients, feedback.ids),
        "failed": _rows(clients, failed),
        "why": np.array([reasons.index(why) for why in feedback.failed.values()], np.uint16),
    }
    arrays |= pack_members("roster", clients.ids, profile.ids) | pack_members("available", now.available, clients.ids)
    if turn.selection.weights is not None:
        facts["weights"] = digest(np.asarray(turn.selection.weights, np.float64))
    for name, values in feedback.signals.items():
        _keep(f"signal {name}", values, facts, arrays)
    for name, (ids, answers) in feedback.probed.items():
        arrays[f"probed {name}"] = _rows(clients, ids)
        _keep(f"probe {name}", answers, facts, arrays)
    return facts, arrays


def _keep(name: str, values: np.ndarray, facts: dict[str, Any], arrays: Arrays) -> None:
    if values[:1].size > WIDEST:
        facts["dropped"][name] = digest(values)
    else:
        arrays[name] = np.asarray(values)


def played(index: int, facts: Mapping[str, Any], arrays: Arrays, profile: Clients) -> Played:
    """The turn of an entry; what does not fit together is refused."""
    try:
        roster = unpack_members("roster", arrays, profile.ids)
        clients = profile if len(roster) == len(profile) else profile.among(roster)
        reasons = [facts["reasons"][code] for code in arrays.get("why", ())]
        failed = _ids(clients, arrays, "failed").tolist()
        probed = {
            name.removeprefix("probed "): _ids(clients, arrays, name) for name in arrays if name.startswith("probed ")
        }
        return Played(
            index=index,
            clients=clients,
            available=unpack_members("available", arrays, clients.ids),
            wanted=int(facts["wanted"]),
            asked=_ids(clients, arrays, "asked"),
            replied=_ids(clients, arrays, "replied"),
            signals={n.removeprefix("signal "): a for n, a in arrays.items() if n.startswith("signal ")},
            failed=dict(zip(failed, map(str, reasons), strict=True)),
            probed={n: (ids, arrays[f"probe {n}"]) for n, ids in probed.items() if f"probe {n}" in arrays},
            weights=facts.get("weights"),
            dropped=tuple(map(str, facts.get("dropped", ()))),
        )
    except (KeyError, IndexError, ValueError, TypeError) as error:
        raise InputError(f"entry {index} of the journal does not describe a round: {error}") from error


def _rows(clients: Clients, ids: Ids) -> np.ndarray:
    return clients.index.rows(ids).astype(np.min_scalar_type(len(clients)))


def _ids(clients: Clients, arrays: Arrays, name: str) -> Ids:
    rows = arrays.get(name)
    return clients.ids[:0] if rows is None else np.asarray(clients.ids[rows])
