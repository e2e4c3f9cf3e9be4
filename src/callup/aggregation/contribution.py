"""What each reply added to the round's model, worked out at the server on validation data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from callup.analytics import shapley
from callup.analytics.game import Game
from callup.analytics.influence import leave_one_out
from callup.core.selector import Workbench
from callup.core.signals import Ask
from callup.core.spec import build
from callup.core.types import Replies

_EXACT_UP_TO = 8  # replies; above, 256 averages and more are too many to score in each round


@dataclass(frozen=True)
class Measure:
    """How contributions are measured: the options of the signal, as in `contribution:by=shapley,metric=accuracy`.

    Positive is helpful. loss: how far the validation loss falls; accuracy: how far the accuracy rises. The worth of
    nobody is that of the model the round started from. Shapley's method auto is exact for up to 8 replies, gtg above.
    """

    by: Literal["shapley", "influence"] = "shapley"
    method: Literal["auto", "exact", "tmc", "gtg"] = "auto"
    metric: Literal["loss", "accuracy"] = "loss"

    def values(self, bench: Workbench, replies: int, rng: np.random.Generator) -> np.ndarray:
        """One number for each of so many replies."""

        def worth(group: frozenset[int]) -> float:
            rows = np.array(sorted(group), np.intp)
            return bench.accuracy(rows) if self.metric == "accuracy" else -bench.loss(rows)

        game = Game(replies, worth)
        if replies == 0:
            return np.zeros(0)
        if self.by == "influence":
            return leave_one_out(game)
        method = self.method if self.method != "auto" else "exact" if replies <= _EXACT_UP_TO else "gtg"
        if method == "exact":
            return shapley.exact(game)
        return shapley.truncated(game, rng) if method == "tmc" else shapley.gtg(game, rng)


def measure_of(ask: Ask) -> Measure:
    """The measure that a need asks for; options that do not exist are refused with a suggestion."""
    made: Measure = build(Measure, "contribution", ask.options)
    return made


def server_signals(
    asks: Iterable[Ask], bench: Workbench, replies: Replies, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """The contributions that were asked for, aligned with the replies; empty when nobody asked."""
    wanted = [ask for ask in asks if ask.time == "server" and ask.signal.name == "contribution"]
    return {ask.signal.name: measure_of(ask).values(bench, len(replies.ids), rng) for ask in wanted[:1]}
