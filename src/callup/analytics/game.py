"""A cooperative game: what any group of players is worth together, each group asked once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from callup.core.errors import InputError

Worth = Callable[[frozenset[int]], float]


class Game:
    """Players 0 to n-1 and the worth v(S) of every group of them; higher is better. Answers are kept.

    In federated learning the players are the replies of a round, v is minus the loss (or the accuracy) of the model
    averaged from a group, and v of nobody is that of the model they all started from.

    >>> game = Game(2, lambda group: {0: 1.0, 1: 4.0, 2: 9.0}[len(group)])
    >>> game({1}), game.gain, game.evaluations
    (4.0, 8.0, 3)
    """

    def __init__(self, players: int, worth: Worth) -> None:
        if players < 0:
            raise InputError(f"a game has no fewer than 0 players, got {players}")
        self.players = players
        self._worth = worth
        self._known: dict[frozenset[int], float] = {}

    def __call__(self, group: Iterable[int]) -> float:
        """v(S)."""
        members = group if isinstance(group, frozenset) else frozenset(map(int, group))
        if members not in self._known:
            value = float(self._worth(members))
            if not math.isfinite(value):
                shown = ", ".join(map(str, sorted(members))) or "nobody"
                raise InputError(f"the worth of players {shown} is {value}; contributions need finite worths")
            self._known[members] = value
        return self._known[members]

    @property
    def gain(self) -> float:
        """v(everyone) - v(nobody): what there is to share out."""
        return self(range(self.players)) - self(())

    @property
    def evaluations(self) -> int:
        """Groups whose worth was worked out so far: the cost."""
        return len(self._known)
