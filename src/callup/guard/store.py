"""The guard's memory as named arrays, and back; nothing is ever pickled."""

from __future__ import annotations

from typing import Any

import numpy as np

from callup.core.errors import InputError
from callup.core.per_client import PerClient
from callup.core.selector import Arrays
from callup.guard.memory import Memory
from callup.guard.record import Record
from callup.guard.turns import Turns

_TURNS = ("calls", "turns", "owner", "owner_calls", "owner_turns", "extra")
_SUMS = ("places", "beyond")


def packed(turns: Turns, record: Record, memory: Memory) -> Arrays:
    """Everything, by name; names of state end in an underscore, as in selectors."""
    tables: dict[str, PerClient] = {f"{name}_": getattr(turns, name) for name in _TURNS}
    tables |= {"strikes_": record.strikes, "until_": record.until, "agreed_": memory.agreed}
    tables |= {f"latest_{name}_": table for name, table in memory.latest.items()}
    tables |= {f"sent_{name}_": table for name, table in memory.sent.items()}
    out: Arrays = {
        **{f"{name}_": np.array(getattr(turns, name)) for name in _SUMS},
        "event_clients_": record.clients.copy(),
        "event_facts_": record.facts.copy(),
        "start_": memory.start.copy(),
    }
    for name, table in tables.items():
        out |= {f"{name}.{part}": array for part, array in table.state().items()}
    return out


def unpacked(state: Arrays) -> tuple[Turns, Record, Memory]:
    """What was saved; a damaged state is refused."""
    tables: dict[str, Arrays] = {}
    plain: dict[str, Any] = {}
    for label, array in state.items():
        name, _, part = label.partition(".")
        if part:
            tables.setdefault(name, {})[part] = array
        else:
            plain[name] = array
    try:
        read = {name: PerClient.from_state(parts) for name, parts in tables.items()}
        counts: dict[str, Any] = {name: read[f"{name}_"] for name in _TURNS}
        counts |= {name: int(plain[f"{name}_"]) for name in _SUMS}
        turns = Turns(**counts)
        clients, facts = np.array(plain["event_clients_"]), np.array(plain["event_facts_"])
        record = Record(read["strikes_"], read["until_"], clients, facts)
        start = np.array(plain["start_"])
    except KeyError as missing:
        raise InputError(f"damaged state of the guard: no {missing}") from missing
    if facts.shape != (len(clients), 3):
        raise InputError(f"damaged state of the guard: {len(clients)} events, facts of shape {facts.shape}")
    return turns, record, Memory(_named(read, "latest_"), _named(read, "sent_"), read["agreed_"], start)


def _named(tables: dict[str, PerClient], prefix: str) -> dict[str, PerClient]:
    return {name[len(prefix) : -1]: table for name, table in tables.items() if name.startswith(prefix)}
