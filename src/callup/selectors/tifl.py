"""TiFL: sort clients into tiers, draw one tier a round, and favour the tiers the model serves worst."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from callup.core import draws
from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.errors import UsageError
from callup.core.index import Ids
from callup.core.per_client import PerClient
from callup.core.randomness import client_uniforms, stream
from callup.core.selector import Selector
from callup.core.signals import Needs
from callup.core.types import Feedback, Plan, Round, Selection


class Tiers(NamedTuple):
    """The tier of every client in the table, and of every tier its accuracy (NaN: not known) and its chance."""

    of: np.ndarray
    accuracy: np.ndarray
    chance: np.ndarray


@SELECTORS.add(
    "tifl",
    paper="Chai et al., HPDC 2020",
    needs=("latency?", "accuracy@probe"),
    cost="O(N log N), and a probe of everyone available every `interval` rounds",
)
@dataclass(repr=False)
class Tifl(Selector):
    """Train clients of one speed together: draw a tier that has credits left, then k clients inside it.

    Clients sorted by latency form tiers of equal size, so that nobody waits for a client of a slower tier. A tier may
    be drawn ceil(rounds / tiers) times; without a number of rounds in the plan there is no limit. Every `interval`
    rounds, beginning with the first, all available clients are asked how accurate the model is on their data. When
    the tier drawn last is no better than an interval before, chances are set anew: of the n tiers with credits, from
    the least accurate (i = 0) to the most, tier i gets (n - i) / (n (n + 1) / 2).

    A tier too small for k is topped up from the next one, after the last from the first. tier_by=accuracy sorts
    clients by the accuracy they last answered, and needs no latency.

    Differs from the paper: its printed chances have n (n - 1) / 2 and count from 1, which leaves the best tier
    without a chance. Credits are equal shares of the rounds, as in public code; in the paper they are the user's to
    set. The paper's interval could not be verified: 10 is that of public code. A tier's accuracy is the plain mean
    over those who answered, on the clients' own data. Tiers nobody of which is available are passed over; when only
    tiers without credits have clients, those are drawn from. Tiers are made anew when clients join or leave.
    tier_by=accuracy stands for the comparison in the FedEMD paper, which has no latency; whoever never answered
    counts as accuracy 0.
    """

    tiers: int = 5
    interval: int = 10
    tier_by: Literal["latency", "accuracy"] = "latency"

    def __post_init__(self) -> None:
        for name in ("tiers", "interval"):
            if getattr(self, name) < 1:
                raise UsageError(f"tifl: {name} must be at least 1, got {getattr(self, name)}")

    @property
    def needs(self) -> Needs:
        return Needs.of(("latency", "accuracy@probe") if self.tier_by == "latency" else ("accuracy@probe",))

    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        super().start(clients, plan, rng)
        self.key_ = int(rng.integers(2**63))  # of the numbers that break ties
        each = np.inf if plan.rounds is None else math.ceil(plan.rounds / self.tiers)
        self.credits_ = np.full(self.tiers, float(each))
        self.chance_ = np.full(self.tiers, 1 / self.tiers)
        self.accuracy_ = np.full(self.tiers, np.nan)  # of each tier, when it last answered
        self.answers_ = PerClient()  # of each client; tier_by=accuracy
        self.current_ = -1  # the tier drawn last

    def select(self, now: Round, k: int) -> Selection:
        if not len(now.available):
            return Selection(now.available)
        asked = now.available if (now.index - 1) % self.interval == 0 else now.available[:0]
        tiers = self._tiers(now.clients, asked, now.probe("accuracy", asked) if len(asked) else np.empty(0))
        tier = tiers.of[now.clients.index.rows(now.available)]
        drawn = self._drawn(np.bincount(tier, minlength=self.tiers) > 0, tiers.chance, now.rng)
        # Inside the tier everyone is equally likely; the tiers after it fill up.
        steps = (tier - drawn) % self.tiers
        chosen = draws.top(now.available, -steps, k, now.rng)
        own = tier[np.searchsorted(now.available, chosen)].astype(np.float64)
        notes = {"tier": float(drawn), "chance": float(tiers.chance[drawn])}
        if np.isfinite(self.credits_[drawn]):
            notes["credits"] = float(self.credits_[drawn])
        return Selection(chosen, scores={"tier": own}, notes=notes)

    def _drawn(self, present: np.ndarray, chance: np.ndarray, rng: np.random.Generator) -> int:
        """A tier that has clients and credits; without credits where no other has clients."""
        with_credits = present & (self.credits_ > 0)
        weights = np.where(with_credits, chance, 0.0) if with_credits.any() else present.astype(np.float64)
        reach = np.cumsum(weights)
        return int(np.searchsorted(reach, rng.random() * reach[-1], side="right"))

    def update(self, feedback: Feedback) -> None:
        if "accuracy" in feedback.probed:
            ids, answers = feedback.probed["accuracy"]
            tiers = self._tiers(feedback.clients, ids, answers)
            self.accuracy_, self.chance_ = tiers.accuracy, tiers.chance
            if self.tier_by == "accuracy":
                self.answers_.set(ids[~np.isnan(answers)], answers[~np.isnan(answers)])
        if "tier" in feedback.notes:
            self.current_ = int(feedback.notes["tier"])
            self.credits_[self.current_] = max(self.credits_[self.current_] - 1, 0.0)

    def _tiers(self, clients: Clients, asked: Ids, answers: np.ndarray) -> Tiers:
        """Tiers in the light of these answers. `select` looks at what `update` will learn from the same answers."""
        heard = ~np.isnan(answers)
        if not heard.all():
            asked, answers = asked[heard], answers[heard]
        # Where everyone answered, nobody need be looked up.
        rows = slice(None) if np.array_equal(asked, clients.ids) else clients.index.rows(asked)
        if self.tier_by == "latency":
            key = f"tifl {self.tiers} {self.key_}"
            tier = clients.derived(key, lambda: self._sorted_into_tiers(clients, clients.all("latency")))
        else:
            last = self.answers_.get(clients.ids)
            last[rows] = answers
            tier = self._sorted_into_tiers(clients, last)
        if not len(answers):
            return Tiers(tier, self.accuracy_, self.chance_)
        count = np.bincount(tier[rows], minlength=self.tiers)
        total = np.bincount(tier[rows], answers, minlength=self.tiers)
        accuracy = np.where(count > 0, total / np.maximum(count, 1), self.accuracy_)
        before, after = (each[self.current_] for each in (self.accuracy_, accuracy))
        # NaN compares as false: a tier that was not measured before cannot be said to stagnate.
        stagnates = self.current_ >= 0 and count[self.current_] > 0 and bool(after <= before)
        return Tiers(tier, accuracy, self._set_anew(accuracy) if stagnates else self.chance_)

    def _sorted_into_tiers(self, clients: Clients, values: np.ndarray) -> np.ndarray:
        """Tier rank * tiers // N for each client, ranked by value and among equals by luck.

        Only where tiers meet must anybody be ranked; all others are told from the values that stand there.
        """
        n = len(values)
        first = -(-np.arange(1, self.tiers) * n // self.tiers)  # the first rank of each tier but the lowest
        first = first[first < n]
        borders = np.partition(values, first)[first]
        tier = np.searchsorted(borders, values, side="right")
        for border in np.unique(borders):
            rows = np.flatnonzero(values == border)
            luck = client_uniforms(stream(self.key_, "clients"), clients.ids[rows])
            ranks = np.count_nonzero(values < border) + np.arange(len(rows))
            tier[rows[np.argsort(luck, kind="stable")]] = ranks * self.tiers // n
        return tier

    def _set_anew(self, accuracy: np.ndarray) -> np.ndarray:
        """(n - i) / (n (n + 1) / 2) for the i-th least accurate of n tiers with credits; unknown is least of all."""
        luck = client_uniforms(stream(self.key_, "tiers"), np.arange(self.tiers))
        order = np.lexsort((luck, np.nan_to_num(accuracy, nan=-1.0)))
        order = order[self.credits_[order] > 0]
        if not len(order):
            return self.chance_
        n = len(order)
        chance = np.zeros(self.tiers)
        chance[order] = (n - np.arange(n)) / (n * (n + 1) / 2)
        return chance
