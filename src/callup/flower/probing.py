"""Questions before a round: candidates are sent the model and asked for a fact about it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, RecordDict
from flwr.serverapp import Grid

from callup.core.errors import ContractError, InputError
from callup.core.index import Ids
from callup.core.signals import Ask
from callup.flower import wire
from callup.flower.exchange import listen, push
from callup.flower.roster import Roster


class Prober:
    """Asks for one round and remembers what was heard. Each question is one exchange with the clients asked."""

    def __init__(
        self,
        grid: Grid,
        roster: Roster,
        arrays: ArrayRecord,
        asks: list[Ask],
        index: int,
        seconds: float,
        believed: Callable[[str, Ids, np.ndarray], np.ndarray] = lambda name, ids, values: values,  # noqa: ARG005
    ) -> None:
        self._believed = believed
        self._grid, self._roster, self._arrays, self._index, self._seconds = grid, roster, arrays, index, seconds
        self._declared = {ask.signal.name for ask in asks if ask.time == "probe"}
        self.heard: dict[str, tuple[Ids, np.ndarray]] = {}
        self.asked = 0

    def ask(self, name: str, ids: Ids) -> np.ndarray:
        """One value or row for each client, NaN for silence and for what cannot be true."""
        if name not in self._declared:
            raise ContractError(f"a selector probed '{name}' without declaring it; declared: {sorted(self._declared)}")
        note = ConfigRecord({wire.WANT: [name], wire.SERVER_ROUND: self._index})
        content = RecordDict({"arrays": self._arrays, wire.KEY: note})
        nodes = {self._roster.node(int(client)): int(client) for client in ids}
        messages = [Message(content, node, wire.QUERY, ttl=self._seconds) for node in nodes]
        told: dict[int, np.ndarray] = {}
        for node, reply, _ in listen(self._grid, push(self._grid, messages), self._seconds).replies:
            fact = _fact(name, reply)
            if fact is not None:
                told[nodes[node]] = fact
        answers = self._believed(name, np.asarray(ids), _aligned(name, ids, told))
        self.asked += len(ids)
        before = self.heard.get(name)
        if before is not None and before[1].shape[1:] == answers.shape[1:]:
            self.heard[name] = (np.concatenate([before[0], ids]), np.concatenate([before[1], answers]))
        else:
            self.heard[name] = (np.asarray(ids), answers)
        return answers


def _fact(name: str, reply: Message) -> np.ndarray | None:
    if reply.has_error():
        return None
    value = wire.note_of(reply.content).get(name)
    try:
        return None if value is None else wire.unpack(name, value)
    except InputError:
        return None


def _aligned(name: str, ids: Ids, told: dict[int, np.ndarray]) -> np.ndarray:
    if not wire.is_vector(name):
        return np.array([float(told.get(int(i), np.nan)) for i in ids], np.float64)
    lengths = [len(row) for row in told.values()]
    width = max(sorted(set(lengths)), key=lengths.count) if lengths else 1
    silent = np.full(width, np.nan)
    return (
        np.stack([row if len(row := told.get(int(i), silent)) == width else silent for i in ids])
        if len(ids)
        else (np.empty((0, width)))
    )
