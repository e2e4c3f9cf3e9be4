"""The counts of a run seen under its limits: who may still be called, and who pays for it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from callup.core.index import Ids
from callup.core.randomness import client_uniforms, stream
from callup.guard.limits import Limits
from callup.guard.quota import ADVANCE_OF_THE_MOST, allowance, fair_turn
from callup.guard.turns import Turns


@dataclass(frozen=True)
class Rate:
    """`key` settles each client's luck in rounding; `online` is always in the order of ids."""

    turns: Turns
    limits: Limits
    key: int

    def room(self, online: Ids, k: int) -> np.ndarray:
        """How many more calls each client may have under the cap, this round included."""
        counted = self.turns.calls.get(online) - self.turns.extra.get(online)
        return np.asarray(self._allowed(online, k, self.limits.cap, self.limits.advance) - counted)

    def within(self, online: Ids, k: int) -> np.ndarray:
        """A mask: who may be called, out of the purse or not."""
        below = self.room(online, k) >= 1
        if not self.limits.extra:
            return below
        possible = self._below_the_most(online, k)
        return possible if self.purse(online, k) else below & possible

    def purse(self, online: Ids, k: int) -> int:
        """How many places may go to clients beyond their cap in this round."""
        allowed = math.floor(self.limits.extra * (self.turns.places + min(k, len(online))))
        return max(allowed - int(self.turns.extra.values.sum()), 0)

    def above(self, online: Ids, k: int) -> Ids:
        """Who is at the cap, so that a call would have to be paid for."""
        return np.asarray(online[self.room(online, k) < 1])

    def spend(self, online: Ids, k: int, called: Ids) -> None:
        """Who was called beyond the cap is paid for out of the purse, as far as it goes and nobody exceeds the most."""
        possible = online[self._below_the_most(online, k)] if self.limits.extra else online
        above = np.isin(called, self.above(online, k))
        paid = called[above & np.isin(called, possible)][: self.purse(online, k)]
        self.turns.extra.add(paid, 1.0)
        self.turns.beyond += int((above | ~np.isin(called, possible)).sum()) - len(paid)

    def _below_the_most(self, online: Ids, k: int) -> np.ndarray:
        allowed = self._allowed(online, k, self.limits.most, ADVANCE_OF_THE_MOST)
        return np.asarray(allowed - self.turns.calls.get(online) >= 1)

    def _allowed(self, online: Ids, k: int, cap: float, advance: int) -> np.ndarray:
        had = self.turns.turns.get(online) + fair_turn(k, len(online))
        return allowance(had, client_uniforms(stream(self.key, "luck"), online), cap, advance)
