"""All that one run consists of, in one place, for the steps of a round to work on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from flwr.serverapp.strategy import Strategy

from callup.analytics.overcommit import cautious_dropout, smallest_ask
from callup.core.clients import Clients
from callup.core.randomness import stream
from callup.core.selector import Method, Selector
from callup.core.types import Plan
from callup.core.verify import check_size
from callup.flower.crew import Crew, Muster
from callup.flower.judging import Judge, check_options
from callup.flower.local_model import ModelCheck
from callup.flower.options import Options
from callup.flower.replies import Checks
from callup.flower.shown import setting
from callup.flower.supply import ALWAYS
from callup.flower.watching import Watch


@dataclass
class Session:
    """One run: the strategy and the selector, who is there, and what past rounds have taught."""

    strategy: Strategy
    selector: Selector
    options: Options
    judge: Judge
    guard: str = "off"
    rounds: int | None = None
    """Planned, where it is known."""
    asked: int = 0
    lost: int = 0
    """Of those asked so far, how many did not reply."""
    started: bool = False
    saved: Mapping[str, Any] = field(default_factory=dict)
    """States by role, to go on from."""
    seen_before: Clients | None = None
    """The table that the selector saw last, where a run is continued."""

    def __post_init__(self) -> None:
        self.visible: Clients | None = None
        """The table as the selector sees it."""
        self.trees = type(self.strategy).__name__ == "FedXgbBagging"  # models without a fixed shape
        served = self.judge.served | (ALWAYS - {"update"} if self.trees else ALWAYS)
        self.crew = Crew(self.selector, self.options, served, self.judge.profile)
        self.watch = Watch(self.guard, self.selector, self.options.strikes, self.options.seed, self.trees)
        self.checks = Checks(setting(self.strategy, "weighted_by_key", "num-examples"))
        self.models = ModelCheck(fixed_shapes=not self.trees)

    def methods(self) -> dict[str, Method]:
        return {"selector": self.selector, **dict(self.judge.methods()), **dict(self.watch.methods())}

    def keeps_models(self) -> bool:
        """Whether anybody beside the strategy looks at local models; if not, they need no room."""
        asked = any(ask.signal.name in ("update", "contribution", "class_gradients") for ask in self.crew.asks or ())
        return not self.trees and (asked or self.judge.needs_models or self.watch.guard is not None)

    def least(self) -> int:
        """Nodes to wait for: as many as the strategy wants before the first round, then what a quorum takes."""
        if self.started:
            return self.options.quorum
        return max(int(setting(self.strategy, "min_available_nodes", 1)), self.options.quorum)

    def begin(self, muster: Muster, index: int) -> None:
        """Starts the methods before the first choice; tells the selector of newcomers later."""
        if self.started:
            if muster.changed:
                self._change(muster, index)
            return
        check_size(self.selector, len(muster.clients))
        check_options(self.crew.asks or ())
        counts = muster.clients.columns.get("label_counts")
        plan = Plan(self.options.k, self.rounds, self.judge.classes if counts is None else counts.shape[1])
        self.watch.start(muster.everything, plan)
        self.visible = self.watch.believed(muster.clients)
        self.selector.start(self.visible, plan, stream(self.options.seed, "start", "selector"))
        self.judge.start(muster.everything, plan)
        for role, method in self.methods().items():
            if role in self.saved:
                method.load(self.saved[role])
        if self.seen_before is not None and not same_table(self.seen_before, self.visible):
            self._change(muster, index)
        self.started = True

    def _change(self, muster: Muster, index: int) -> None:
        """Clients joined or left."""
        self.watch.roster(muster.everything)
        self.visible = self.watch.believed(muster.clients)
        self.selector.roster(self.visible, stream(self.options.seed, "roster", index))

    def drop_out(self) -> tuple[int, int]:
        """How many were asked so far, as far as is known what became of it, and how many of them were lost."""
        busy = self.crew.busy
        return self.asked + busy.came + busy.gone, self.lost + busy.gone

    def how_many(self) -> int:
        """Clients to ask so that k reply."""
        overcommit, k = self.options.overcommit, self.options.k
        if overcommit == "auto":
            asked, lost = self.drop_out()
            return smallest_ask(k, cautious_dropout(lost, asked))
        return math.ceil(k * float(overcommit))


def same_table(one: Clients, other: Clients) -> bool:
    """The same clients with the same facts."""
    return (
        np.array_equal(one.ids, other.ids)
        and one.columns.keys() == other.columns.keys()
        and all(np.array_equal(column, other.columns[name]) for name, column in one.columns.items())
    )
