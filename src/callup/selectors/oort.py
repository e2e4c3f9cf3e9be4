"""Oort: call clients whose data teaches most for the time they take, and keep looking for better ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from callup.analytics.oort_draws import draw_known, draw_new
from callup.analytics.oort_pacer import Pacer
from callup.analytics.oort_utility import ceiling, on_one_scale, slowness, uncertainty
from callup.analytics.shares import floor_share
from callup.analytics.utility import client_utility
from callup.core import draws
from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.errors import UsageError
from callup.core.index import Ids
from callup.core.per_client import PerClient
from callup.core.selector import Selector
from callup.core.types import Feedback, Plan, Round, Selection, check_k

_LARGEST = 1e200  # of a utility, so that sums over a window stay finite
_FEDSCALE = {"explore_min": 0.3, "clip": 0.9, "cutoff": 0.05, "percentile": 30.0, "step": 5.0, "cap": None, "pool": 10}
_OORT_REPO = {"decay": 0.95, "clip": 0.98, "cutoff": 0.7, "percentile": 10.0, "step": 5.0, "cap": None}


@SELECTORS.add(
    "oort",
    paper="Lai, Zhu, Madhyastha, Chowdhury, OSDI 2021",
    needs=("num_examples", "loss_rms", "duration?", "latency?"),
    presets={"paper": {}, "fedscale": _FEDSCALE, "oort-repo": _OORT_REPO},
    cost="O(N log N)",
    one_by_one=True,
)
@dataclass(repr=False)
class Oort(Selector):
    """Exploit clients of high loss that are quick enough; explore new ones, large and quick first.

    The utility of a client is U_i = n_i sqrt(mean loss^2) when it last trained, in round L_i; t_i is how long it took,
    before that its latency in the profile. In round R, with utilities cut at a quantile and mapped to 0..1:

        s_i = U_i + sqrt(0.1 ln R / L_i), times (T / t_i)^alpha if t_i > T

    A share epsilon of the places goes to clients that never reported, drawn by size times the same factor of speed.
    The others are drawn in proportion to s_i from all whose s_i is at least `cutoff` times that of the last place.
    explore, decay, explore_min: epsilon begins at explore and falls by decay after every round, down to explore_min.
    clip: the quantile at which utilities are cut. alpha: how much slow clients are held back; 0 ignores time.
    step, window: the pacer compares windows of so many rounds; where utility falls, T, at first one step, grows by a
    step in seconds. Set it to the length of your rounds: the note slow says which share of clients T holds back.
    percentile: T is this percentile of all durations instead, and step is in points: up where utility is flat within
    10 %, down where it changes five-fold. cap: clients that took part more often rest, the most active cap_share of
    all clients at most; none switches it off. sample_window, pool: how many candidates new and known clients are
    drawn from, see below.

    Where neither duration nor latency is known all clients count as quick. The paper asks 1.3 times as many clients as
    it needs: set overcommit. The presets carry the defaults of two repositories of the authors; paper is the default.

    Differs from the paper: U_i is scaled to 0..1 as in the authors' code, but on the range after the cut, and the
    highest utility is always cut, so that one absurd report leaves the order of the others as it was. New clients are
    drawn from the sample_window * places best, as in that code; the paper draws them by speed alone. pool=10 keeps ten
    times as many candidates as places, as FedScale does. Places that new clients cannot fill go to known ones; resting
    clients come when nobody else is left, so k clients are always named. Rounds are those a client reported in,
    whether or not it was asked more often. The pacer sees utilities after the cut, of known clients only, and skips
    rounds without any. The paper's text was not at hand: epsilon, decay, cutoff, alpha, window and T's beginning at one
    step agree with code that others wrote from it; 20 s and the cap of 10 could not be checked.
    """

    explore: float = 0.9
    decay: float = 0.98
    explore_min: float = 0.2
    clip: float = 0.95
    cutoff: float = 0.95
    alpha: float = 2.0
    percentile: float | None = None
    step: float = 20.0
    window: int = 20
    cap: int | None = 10
    cap_share: float = 0.3
    sample_window: float = 5.0
    pool: int = 1

    def __post_init__(self) -> None:
        for name in ("explore", "explore_min", "clip", "cutoff", "decay", "cap_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"oort: {name} must be a share from 0 to 1, got {getattr(self, name):g}")
        if self.explore_min > self.explore:
            raise UsageError(f"oort: explore_min is {self.explore_min:g}, above explore, {self.explore:g}")
        for name, lowest in (("alpha", 0.0), ("sample_window", 1.0)):
            if not lowest <= getattr(self, name) < math.inf:
                raise UsageError(f"oort: {name} must be at least {lowest:g} and finite, got {getattr(self, name):g}")
        if not 0 < self.step < math.inf:
            raise UsageError(f"oort: step must be above 0 and finite, got {self.step:g}")
        if self.percentile is not None and not 0 <= self.percentile <= 100:
            raise UsageError(f"oort: percentile must lie between 0 and 100, got {self.percentile:g}")
        check_k(self.window, "oort: window")
        check_k(self.pool, "oort: pool")
        if self.cap is not None:
            check_k(self.cap, "oort: cap")

    @property
    def head_start(self) -> int:
        return 0 if self.cap is None else self.cap + 1  # then a client rests

    @property
    def _pacer(self) -> Pacer:
        return Pacer(self.step, self.window, self.percentile)

    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        super().start(clients, plan, rng)
        self.epsilon_ = self.explore
        self.pace_ = self._pacer.first
        self.history_ = np.empty(0)  # mean utility of known clients, a round each, at most two windows
        self.utility_ = PerClient()  # U_i; a client is known once it has reported
        self.last_ = PerClient()  # L_i
        self.duration_ = PerClient()  # D_i
        self.times_ = PerClient(0, np.int64)

    def select(self, now: Round, k: int) -> Selection:
        ids, size = now.available, min(k, len(now.available))
        known, resting = self.utility_.knows(ids), np.isin(ids, self._resting(now))
        parts, notes = self._parts(now, known, known & ~resting)
        score = (parts["utility"] + parts["uncertainty"]) * parts["speed"]
        free, new = np.flatnonzero(known & ~resting), np.flatnonzero(~known)
        # (1 - epsilon) K by utility and epsilon K new ones; places that one kind cannot fill go to the other.
        many = min(size - min(floor_share(self.epsilon_, size), len(new)), len(free))
        exploited = draw_known(ids[free], score[free], many, self.cutoff, self.pool, now.rng)
        explored = draw_new(ids[new], score[new], min(size - many, len(new)), self.sample_window, now.rng)
        called = np.concatenate([exploited, explored])
        spare = draws.uniform(ids[known & resting], size - len(called), now.rng)
        chosen = np.concatenate([called, spare])
        rows = np.searchsorted(ids, chosen)
        return Selection(
            chosen,
            scores={"score": score[rows], "new": (~known[rows]).astype(np.float64)}
            | {name: part[rows] for name, part in parts.items()},
            notes=notes | {"explored": float(len(explored)), "resting": float(resting.sum())},
        )

    def _parts(self, now: Round, known: np.ndarray, free: np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, float]]:
        """Utility, uncertainty and speed of the available clients, and what there is to say of all together."""
        ids = now.available
        # A new client's utility is its size, to begin with.
        utility, doubt = now.clients.of("num_examples", ids), np.zeros(len(ids))
        mine = self.utility_.get(ids)
        utility[known] = on_one_scale(mine[known], mine[free if free.any() else known], self.clip)
        doubt[known] = uncertainty(now.index, self.last_.get(ids)[known])
        seconds = self._seconds(now.clients)
        timed = seconds[~np.isnan(seconds)]
        preferred = self._pacer.preferred(self.pace_, timed)
        speed = slowness(seconds[now.clients.index.rows(ids)], preferred, self.alpha)
        notes = {"epsilon": self.epsilon_}
        if len(timed) and math.isfinite(preferred):
            notes |= {"preferred_seconds": preferred, "slow": float((timed > preferred).mean())}
        return {"utility": utility, "uncertainty": doubt, "speed": speed}, notes

    def _seconds(self, clients: Clients) -> np.ndarray:
        """How long each client of the federation takes: measured, else as its profile says, else NaN."""
        profile = clients.all("latency") if "latency" in clients else np.full(len(clients), np.nan)
        return np.where(self.duration_.knows(clients.ids), self.duration_.get(clients.ids), profile)

    def _resting(self, now: Round) -> Ids:
        """Clients above the cap; when these are too many, those who took part most often."""
        if self.cap is None:
            return np.empty(0, np.int64)
        everyone = now.clients.ids
        times = self.times_.get(everyone)
        above = times > self.cap
        return draws.top(everyone[above], times[above], floor_share(self.cap_share, len(everyone)), now.rng)

    def update(self, feedback: Feedback) -> None:
        if len(feedback.ids):
            self._learn(feedback)
        self.epsilon_ = max(self.epsilon_ * self.decay, self.explore_min)

    def _learn(self, feedback: Feedback) -> None:
        ids, order = np.sort(feedback.ids), np.argsort(feedback.ids)
        sizes, losses = feedback.clients.of("num_examples", ids), feedback.signals["loss_rms"][order]
        utility, known = np.minimum(client_utility(sizes, losses), _LARGEST), self.utility_.knows(ids)
        self.utility_.set(ids, utility)
        self.last_.set(ids, float(feedback.index))
        self.times_.add(ids, 1)
        if "duration" in feedback.signals:
            self.duration_.set(ids, feedback.signals["duration"][order])
        if known.any():
            achieved = np.minimum(utility[known], ceiling(self.utility_.values, self.clip)).mean()
            self.pace_, self.history_ = self._pacer.moved(self.pace_, np.append(self.history_, achieved))
