"""A drill: liars are let loose on a selector in a made-up federation, with the guard on or off.

It answers one question, without training: what share of the places do the liars win?
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.index import Ids
from callup.core.randomness import stream
from callup.core.types import Feedback, Plan, Replies, Round
from callup.core.verify import ask
from callup.guard.guard import guard_for
from callup.simulation.adversaries.base import ADVERSARIES
from callup.simulation.drill_world import DrillWorld

_DEADLINE = 100.0  # seconds: far beyond any honest client


@dataclass(frozen=True)
class Outcome:
    """What came of a drill."""

    places: float
    """The liars' share of all places."""
    liars: float
    """Their share of the clients: what would be fair."""
    bound: float | None
    """What the guard promised; None without it."""
    beyond: int = 0
    """Places that went to clients above the cap because too few were below it."""
    liars_caught: int = 0
    honest_caught: int = 0
    """Clients that were in quarantine at any time."""


def drill(
    selector: str,
    adversary: str | None = None,
    guard: str = "off",
    clients: int = 100,
    k: int = 10,
    rounds: int = 200,
    seed: int = 0,
) -> Outcome:
    """So many clients, k places a round, ten classes; everybody is always online."""
    with threadpool_limits(1):
        ground = _Ground(selector, adversary, guard, DrillWorld(clients, 10, seed), Plan(k, rounds, 10), seed)
        for index in range(1, rounds + 1):
            ground.play(index)
    return ground.outcome()


class _Ground:
    """One drill in progress."""

    def __init__(
        self, selector: str, adversary: str | None, guard: str, world: DrillWorld, plan: Plan, seed: int
    ) -> None:
        self.world, self.k, self.seed = world, plan.k, seed
        self.selector = SELECTORS.make(selector)
        self.guard = guard_for(guard, self.selector)
        self.enemy = ADVERSARIES.make(adversary) if adversary else None
        self.claimed, owners = world.clients, None
        if self.enemy is not None:
            self.enemy.start(world.clients, plan, stream(seed, "adversary"))
            self.claimed, owners = self.enemy.claim(world.clients), self.enemy.owners(world.clients)
        seen = self.claimed
        if self.guard is not None:
            known = seen if owners is None else Clients(seen.ids, **seen.columns, owner=owners)
            self.guard.start(known, plan, stream(seed, "guard"))
            seen = self.guard.profile(seen)
        self.asks = self.selector.needs.settle(lambda _: True, selector)
        self.seen = seen.only(*(a.signal.name for a in self.asks if a.time == "profile"))
        self.selector.start(self.seen, plan, stream(seed, "start"))
        self.wants = [a.signal.name for a in self.asks if a.time == "reply"]
        self.places = np.zeros(len(world.clients))
        self.heard: dict[str, tuple[Ids, np.ndarray]] = {}

    def play(self, index: int) -> None:
        """One round, in the order of the engine."""
        guard, world, online, k = self.guard, self.world, self.world.clients.ids, self.k
        self.heard = {}
        admitted = online if guard is None else guard.admit(index, online, k)
        rng = stream(self.seed, "select", index)
        now = Round(index, admitted, self.seen, rng, lambda name, ids: self._probe(index, name, ids))
        selection = ask(self.selector, now, k) if guard is None else guard.ask(self.selector, now, k, online)
        repeated = self.selector.card.with_replacement and selection.weights is not None
        self.places[selection.ids] += selection.weights if repeated else 1.0
        replies, late = self._replies(selection.ids, index)
        verdict = None if guard is None else guard.review(replies, self.claimed)
        refused = {} if verdict is None else verdict.refused
        good = replies.only(~np.isin(replies.ids, list(refused)))
        at_server = [a.signal.name for a in self.asks if a.time == "server"]
        signals = {name: good.signals[name] for name in self.wants}
        signals |= {name: world.fact(name, good.ids, index) for name in at_server}
        if guard is not None:
            signals = {name: guard.scale(name, good.ids, value) for name, value in signals.items()}
        failed = {int(i): "late" for i in late} | refused
        rng = stream(self.seed, "update", index)
        self.selector.update(Feedback(index, good.ids, signals, self.seen, failed, self.heard, selection.notes, rng))
        if guard is not None and verdict is not None:
            guard.learn(index, online, selection, k, [verdict], self.heard)
        if self.enemy is not None:
            self.enemy.learn(index, replies)
        world.average(good)

    def _probe(self, index: int, name: str, ids: Ids) -> np.ndarray:
        values = self.world.fact(name, ids, index)
        if self.enemy is not None:
            values = self.enemy.answer(index, name, ids, values)
        if self.guard is not None:
            values = self.guard.scale(name, ids, values)
        self.heard[name] = (ids, values)
        return values

    def _replies(self, ids: Ids, index: int) -> tuple[Replies, Ids]:
        """What arrives in time, and who was too late."""
        seconds = self.world.fact("duration", ids, index)
        if self.enemy is not None:
            seconds = self.enemy.seconds(index, ids, seconds)
        in_time = seconds <= _DEADLINE
        replies = self.world.train(ids[in_time], index, self.wants)
        if self.enemy is not None:
            replies = self.enemy.reply(index, replies)
        measured = {"duration": seconds[in_time], "update": replies.updates}
        signals = {name: measured[name] if name in measured else replies.signals[name] for name in self.wants}
        return replace(replies, signals=signals), ids[~in_time]

    def outcome(self) -> Outcome:
        ids = self.world.clients.ids
        lying = np.zeros(len(ids), bool) if self.enemy is None else self.enemy.lies(ids)
        won, share = float(self.places[lying].sum() / self.places.sum()), float(lying.mean())
        if self.guard is None:
            return Outcome(won, share, None)
        caught = np.isin(ids, [event.client for event in self.guard.report() if event.name == "quarantined"])
        bound = self.guard.bound(share).places
        return Outcome(won, share, bound, self.guard.beyond, int((caught & lying).sum()), int((caught & ~lying).sum()))
