"""Calls and fair turns of every client, and of every owner of several, who may have to wait."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from callup.core import draws
from callup.core.index import Ids
from callup.core.per_client import PerClient
from callup.core.randomness import client_uniforms, stream
from callup.guard.quota import allowance, fair_turn


def _whole(default: int) -> PerClient:
    return PerClient(default, np.int64)


@dataclass
class Turns:
    """Counts, all in arrays, addressed by client id or by owner."""

    calls: PerClient = field(default_factory=PerClient)
    turns: PerClient = field(default_factory=PerClient)
    owner: PerClient = field(default_factory=lambda: _whole(-1))
    owner_calls: PerClient = field(default_factory=PerClient)
    owner_turns: PerClient = field(default_factory=PerClient)
    extra: PerClient = field(default_factory=PerClient)
    """Calls out of the purse, which do not count towards the cap."""
    places: int = 0
    """All places there have been."""
    beyond: int = 0
    """Places given beyond all limits, because too few clients were below them."""

    def held_back(self, online: Ids, free: np.ndarray, index: int, k: int, cap: float, key: int) -> np.ndarray:
        """A mask: who has to wait because its owner has too little room for all of its clients.

        An owner's fair turn is one place divided by the owners online, however many clients it runs. Which of its
        clients wait is drawn anew in each round.
        """
        owner = self.owner.get(online)
        wait = np.zeros(len(online), bool)
        names, members = np.unique(owner[owner >= 0], return_counts=True)
        many = names[members > 1]
        if not len(many):
            return wait
        had = self.owner_turns.get(many) + fair_turn(k, len(names) + int((owner < 0).sum()))
        luck = client_uniforms(stream(key, "owner luck"), many)
        room = np.maximum(allowance(had, luck, cap) - self.owner_calls.get(many), 0.0)
        for name, places in zip(many.tolist(), room.tolist(), strict=True):
            rows = np.flatnonzero((owner == name) & free)
            if len(rows) > places:
                called = draws.uniform(online[rows], int(places), stream(key, "of one owner", index, name))
                wait[rows[~np.isin(online[rows], called)]] = True
        return wait

    def count(self, online: Ids, k: int, ids: Ids, times: np.ndarray) -> None:
        """A round has been played: everybody online had a turn, these were called."""
        self.places += min(k, len(online))
        self.turns.add(online, fair_turn(k, len(online)))
        self.calls.add(ids, times)
        owner = self.owner.get(online)
        names = np.unique(owner[owner >= 0])
        if len(names):
            self.owner_turns.add(names, fair_turn(k, len(names) + int((owner < 0).sum())))
            of_called = self.owner.get(ids)
            self.owner_calls.add(of_called[of_called >= 0], times[of_called >= 0])
