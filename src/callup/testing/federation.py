"""A made-up federation that can supply every fact of the vocabulary.

Each value hangs on the client's id, never on its row or on who else is there, so the same client says the same in
any order, after others have left, and when it is asked again in the same round.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from callup.core.clients import Clients
from callup.core.index import Ids
from callup.core.randomness import client_uniforms, stream
from callup.core.signals import SIGNALS, Ask, Needs, Signal

Mood = Literal["usual", "ties", "zeros", "one class", "one label", "huge", "liar", "silent", "half silent"]
"""What is odd about the values: all equal; all zero; one class exists; one of several classes is held; all enormous;
one client claims enormous values; nobody, or only every second client, answers a probe."""

_HUGE_SIZE, _HUGE_FACT = 1e12, 1e30
_WIDTH = 6  # of a row that is not indexed by class
_BY_CLASS = ("label_counts", "class_gradients", "global_counts")
_SHARES = ("accuracy", "kept")  # between 0 and 1 whatever the mood


@dataclass(frozen=True)
class Federation:
    """Clients with made-up facts. The same ids, seed and mood always give the same facts."""

    ids: Ids
    mood: Mood = "usual"
    seed: int = 0
    classes: int = 4

    @classmethod
    def of(cls, n: int, *, sparse: bool = False, classes: int = 4) -> Federation:
        """n clients, named 0..n-1 or, when sparse, by numbers far apart and far above n."""
        ids = np.arange(n, dtype=np.int64)
        return cls(10**12 + 7919 * ids**2 + 13 * ids if sparse else ids, classes=classes)

    def like(self, mood: Mood) -> Federation:
        """The same clients in another mood."""
        return replace(self, mood=mood, classes=1 if mood == "one class" else self.classes)

    def with_ids(self, ids: Iterable[int]) -> Federation:
        """The same federation after clients joined or left."""
        return replace(self, ids=np.array(sorted(ids), np.int64))

    def clients(self, names: Iterable[str], order: np.ndarray | None = None) -> Clients:
        """The profile with these columns and no other; `order` permutes the rows it is built from."""
        rows = np.arange(len(self.ids)) if order is None else order
        ids = self.ids[rows]
        wanted = list(names)
        return Clients(ids, **{name: self.column(name, ids) for name in wanted}).only(*wanted)

    def column(self, name: str, ids: Ids) -> np.ndarray:
        """A profile column, rows in the order of `ids`."""
        if name == "num_examples":
            return np.asarray(self._counts(ids).sum(axis=1))
        if name == "label_counts":
            return self._counts(ids)
        if name == "label_gram":
            return np.asarray(self._counts(ids) @ self._counts(ids).T)
        if name == "global_counts":
            return np.asarray(self._counts(self.ids).sum(axis=0))
        return self.fact(name, ids, 0)

    def fact(self, name: str, ids: Ids, index: int) -> np.ndarray:
        """What these clients, or the server about them, report of a signal in round `index`."""
        signal = SIGNALS[name]
        if name == "owner":
            return np.asarray(np.floor(self._uniform(ids, name) * 3))
        if signal.shape == "total":
            return np.asarray(self._row(signal, np.zeros(1, np.int64), index)[0])
        if signal.shape == "pairs":
            one = self._uniform(ids, name)
            return np.outer(one, one)
        values = self._row(signal, ids, index) if signal.shape == "row" else self._number(signal, ids, index)
        return values if name in _SHARES else self._moody(values, ids, _HUGE_FACT)

    def answers(self, name: str, ids: Ids, index: int) -> np.ndarray:
        """What clients answer to a probe; NaN is silence."""
        values = np.array(self.fact(name, ids, index), np.float64)
        if self.mood == "silent":
            values[:] = np.nan
        elif self.mood == "half silent":
            values[ids % 2 == 0] = np.nan
        return values

    def _counts(self, ids: Ids) -> np.ndarray:
        """Label counts: a few samples of most classes, many of one."""
        if self.mood == "zeros":
            return np.zeros((len(ids), self.classes))
        if self.mood == "ties":
            return np.full((len(ids), self.classes), 5.0)
        draws = [np.floor(6 * self._uniform(ids, "counts", b)) for b in range(self.classes)]
        counts = np.stack(draws, axis=1)
        home = np.floor(self.classes * self._uniform(ids, "home")).astype(np.intp)
        counts[np.arange(len(ids)), home] += 5 + np.floor(40 * self._uniform(ids, "hoard"))
        if self.mood == "one label":
            counts[:, 1:] = 0
            counts[:, 0] += 1
        return self._moody(counts, ids, _HUGE_SIZE)

    def _number(self, signal: Signal, ids: Ids, index: int) -> np.ndarray:
        share = self._uniform(ids, signal.name, index)
        if signal.name == "kept":
            return (share < 0.6).astype(np.float64)
        if signal.name in _SHARES:
            return share
        if signal.name == "local_steps":
            return np.asarray(1 + np.floor(20 * share))
        # Facts that may be negative sometimes are: a contribution may do harm.
        return 0.1 + 2 * share if signal.lowest is not None or "loss" in signal.name else 2 * share - 0.5

    def _row(self, signal: Signal, ids: Ids, index: int) -> np.ndarray:
        width = self.classes if signal.name in _BY_CLASS else _WIDTH
        shares = np.stack([self._uniform(ids, signal.name, index, j) for j in range(width)], axis=1)
        return shares if signal.lowest is not None else 2 * shares - 1

    def _moody(self, values: np.ndarray, ids: Ids, huge: float) -> np.ndarray:
        if self.mood == "ties":
            return np.ones_like(values)
        if self.mood == "zeros":
            return np.zeros_like(values)
        if self.mood == "huge":
            return values * huge
        if self.mood == "liar":
            values = values.copy()
            values[ids == self.ids[0]] *= huge
        return values

    def _uniform(self, ids: Ids, *path: str | int) -> np.ndarray:
        return client_uniforms(stream(self.seed, "federation", *path), ids)


def supplies(needs: Needs) -> list[list[Ask]]:
    """Ways of meeting the needs: first all at their first alternative, then each other choice in turn.

    An optional need has one more choice: to go unmet.
    """
    usual = needs.settle(lambda _: True, "")
    found = [usual]
    for place, need in enumerate(needs):
        found += [[*usual[:place], other, *usual[place + 1 :]] for other in need.any_of[1:]]
        if need.optional:
            found.append(usual[:place] + usual[place + 1 :])
    return found
