"""The guard of one run: who may be called, what is believed, which replies count, who is set aside.

Looking and learning are apart, as in selectors: only `learn` and what an operator does by hand change anything.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import ClassVar

import numpy as np

from callup.core import draws
from callup.core.clients import Clients
from callup.core.errors import InputError, UsageError
from callup.core.index import Ids
from callup.core.randomness import stream
from callup.core.registry import Registry
from callup.core.selector import Arrays, Method, Selector
from callup.core.types import Plan, Replies, Round, Selection, check_k
from callup.core.verify import ask
from callup.guard.bound import Bound, bound
from callup.guard.claims import believed
from callup.guard.limits import USUAL_CAP, Limits, settled, within_purse
from callup.guard.memory import Memory
from callup.guard.pooling import pooled, spread
from callup.guard.quota import ADVANCE
from callup.guard.rate import Rate
from callup.guard.record import Event, Objection, Record
from callup.guard.review import Verdict, objections
from callup.guard.store import packed, unpacked
from callup.guard.turns import Turns
from callup.guard.weights import evened

GUARDS: Registry[Guard] = Registry("guard", "callup.guard.guard")


@GUARDS.add("on")
@dataclass(repr=False)
class Guard(Method):
    """Checks every report, limits what lying can win, and sets those aside who are caught.

    cap: how many times its fair share a client may be called; none is 1.5, or more where the method itself favours
    clients more than that. advance: calls that anybody may have at first. extra: the share of all places that may go
    to clients beyond their cap, the most wanted first; none in these two is what the method needs. most: times its
    fair share that nobody exceeds out of these. pool: for methods that score clients one by one, the share of clients
    online from whom the cohort is drawn at random. owner_cap: how many times the fair share of an owner all its clients
    together may have. reach: robust deviations from the median beyond which a reported number is pulled in;
    feature_reach the same for features; size_reach: how many times the median size a claim may be. huge: an update so
    many times the usual length is refused. copy_angle: updates closer than this are the same. strikes: how many lead
    to quarantine, which lasts `sentence` rounds; strikes are forgotten after `memory` rounds.
    """

    schema: ClassVar[int] = 2

    cap: float | None = None
    advance: int | None = None
    extra: float | None = None
    most: float = math.inf
    pool: float | None = 0.5
    owner_cap: float = 3.0
    reach: float = 5.0
    feature_reach: float = 3.0
    size_reach: float = 10.0
    huge: float = 20.0
    copy_angle: float = 1e-3
    strikes: float = 2.0
    sentence: int = 20
    memory: int = 100
    repeats: bool = False
    """Weights of a selection count how often a client was drawn; set by the method."""

    def __post_init__(self) -> None:
        cap = USUAL_CAP if self.cap is None else self.cap
        advance = ADVANCE if self.advance is None else self.advance
        self._limits = Limits(cap, advance, self.extra or 0.0, self.most)
        if self.pool is not None and not 0 < self.pool <= 1:
            raise UsageError(f"guard: pool must be above 0 and at most 1, got {self.pool:g}")
        for name in ("owner_cap", "size_reach", "huge"):
            if not getattr(self, name) >= 1:
                raise UsageError(f"guard: {name} must be at least 1, got {getattr(self, name):g}")
        for name in ("reach", "feature_reach"):
            if not getattr(self, name) > 0:
                raise UsageError(f"guard: {name} must be above 0, got {getattr(self, name):g}")
        if not 0 < self.copy_angle < 1:
            raise UsageError(f"guard: copy_angle must lie between 0 and 1, got {self.copy_angle:g}")
        if not self.strikes > 1:
            raise UsageError(f"guard: strikes must be above 1: nobody is set aside on one strike, got {self.strikes:g}")
        for name in ("sentence", "memory"):
            check_k(getattr(self, name), f"guard: {name}")

    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        """`clients` are all that is known, as claimed, with owners where there are any."""
        self.key_ = int(rng.integers(2**63))
        self.planned_ = math.nan if plan.rounds is None else plan.rounds * min(plan.k / len(clients), 1.0)
        self._turns, self._record, self._memory = Turns(), Record.empty(), Memory()
        self.roster(clients)

    def roster(self, clients: Clients) -> None:
        """Clients joined or left. What leavers reported is forgotten; calls and sentences wait for their return."""
        self._memory.forget(clients.ids)
        if "owner" in clients:
            self._turns.owner.set(clients.ids, clients.all("owner").astype(np.int64))

    def profile(self, clients: Clients) -> Clients:
        """The table as selectors see it: claimed sizes and features within reason."""
        return believed(clients, self.size_reach, self.feature_reach)

    def admit(self, index: int, online: Ids, k: int) -> Ids:
        """Who may be chosen: nobody in quarantine, nobody above the cap while others can fill the places."""
        online = np.sort(online)
        free = ~self._record.away(online, index)
        below = free & self._rate.within(online, k)
        below &= ~self._turns.held_back(online, below, index, k, self.owner_cap, self.key_)
        missing = min(k, int(free.sum())) - int(below.sum())
        if missing > 0:
            # The cap gives way rather than leave places empty: first those who are least above it.
            others = np.flatnonzero(free & ~below)
            rng = stream(self.key_, "beyond the cap", index)
            room = self._rate.room(online, k)[others]
            below |= np.isin(online, draws.top(online[others], room, missing, rng))
        return np.asarray(online[below])

    def ask(self, selector: Selector, now: Round, k: int, online: Ids) -> Selection:
        """The selector's choice among those admitted, drawn from a pool where the method scores clients one by one."""
        rng = stream(self.key_, "pool", now.index)
        if self.pool is not None and selector.card.one_by_one and len(now.available):
            return pooled(selector, now, k, len(online), self.pool, rng)
        online = np.sort(online)
        if self._limits.extra:
            above, purse = self._rate.above(online, k), self._rate.purse(online, k)
            return evened(within_purse(selector, now, k, above, purse))
        selection = ask(selector, now, k)
        if not self.repeats:
            return evened(selection)
        return spread(selection, self._rate.room(online, k)[np.isin(online, now.available)], now, rng)

    def scale(self, name: str, ids: Ids, values: np.ndarray) -> np.ndarray:
        """A signal as selectors may learn it: a client's own word is kept within reach of what the others say."""
        return self._memory.scaled(name, ids, values, self.reach)

    def review(self, replies: Replies, clients: Clients | None = None) -> Verdict:
        """What is wrong with these replies; `clients` with label counts lets claims be compared with updates."""
        look = self._memory.looks(replies, clients, self.key_)
        return Verdict(replies, look, tuple(objections(look, self.huge, self.copy_angle)))

    def learn(
        self,
        index: int,
        online: Ids,
        selection: Selection,
        k: int,
        verdicts: Iterable[Verdict] = (),
        probed: Mapping[str, tuple[Ids, np.ndarray]] | None = None,
        others: Iterable[Objection] = (),
    ) -> None:
        """One round is over: who was called, what came back, what was answered, and what others objected to."""
        verdicts = list(verdicts)
        times = np.ones(len(selection.ids))
        if self.repeats and selection.weights is not None:
            times = np.asarray(selection.weights, np.float64)
        self._rate.spend(np.sort(online), k, selection.ids)
        self._turns.count(online, k, selection.ids, times)
        found = [*others, *(objection for verdict in verdicts for objection in verdict.found)]
        self._record.judge(index, found, self.strikes, self.memory, self.sentence)
        for name, (ids, values) in (probed or {}).items():
            self._memory.heard(name, ids, values)
        for verdict in verdicts:
            self._memory.learn(verdict, self.key_)

    def away(self, index: int, ids: Ids) -> Ids:
        """Who of these is in quarantine in this round."""
        return np.asarray(ids[self._record.away(ids, index)])

    def quarantine(self, index: int, client: int, rounds: int | None = None) -> None:
        """By hand: this client is not called for so many rounds."""
        self._record.quarantine(index, client, index + 1 + (rounds or self.sentence), "by hand")

    def release(self, index: int, client: int) -> None:
        """By hand: this client may be called again, and its strikes are forgotten."""
        self._record.release(index, client)

    def report(self, index: int | None = None) -> list[Event]:
        """Every action with its evidence, oldest first; of one round alone where `index` is given."""
        return self._record.events(index)

    @property
    def beyond(self) -> int:
        """Places given to clients above the cap, because too few were below it; the bound does not cover them."""
        return self._turns.beyond

    @property
    def _rate(self) -> Rate:
        return Rate(self._turns, self._limits, self.key_)

    def bound(self, share: float) -> Bound:
        """The most places that a share of the clients can win in the run as it was planned."""
        return bound(share, self._limits, self.pool, None if math.isnan(self.planned_) else self.planned_)

    def state(self) -> Arrays:
        own = {"schema": np.array(self.schema), "key_": np.array(self.key_), "planned_": np.array(self.planned_)}
        return own | packed(self._turns, self._record, self._memory)

    def load(self, state: Arrays) -> None:
        found = np.asarray(state.get("schema")).tolist()
        if found != self.schema or "key_" not in state or "planned_" not in state:
            raise InputError(f"the guard reads a whole state of schema {self.schema}, this one has {found}")
        self._turns, self._record, self._memory = unpacked(state)
        self.key_, self.planned_ = int(state["key_"]), float(state["planned_"])


def guard_for(spec: str, selector: Selector) -> Guard | None:
    """The guard for this selector, with the cap and the pool it needs; None for "off"."""
    if spec.strip() == "off":
        return None
    made = GUARDS.make(spec)
    card = selector.card
    if card.takes_everyone:
        return replace(made, cap=math.inf, pool=1.0)
    limits = settled(selector, made.cap, made.advance, made.extra, made.most)
    # Draws from a pool would take a method's head start from it; a pool that was asked for is used all the same.
    fitting = limits.advance == ADVANCE or made.pool != Guard.pool
    pool = made.pool if card.one_by_one and fitting and not limits.extra else None
    return replace(made, **asdict(limits), pool=pool, repeats=card.with_replacement)
