"""NCCB: call each kind of client a few times, then those a small network expects to teach most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from callup.analytics.contexts import UnitRows, are_bits, doubled
from callup.analytics.diagonal_bounds import DiagonalBounds
from callup.analytics.kmeans import kmeans, nearest
from callup.analytics.neural_ucb import DiagonalZ, FullZ
from callup.analytics.reward_fit import Observed, fit
from callup.analytics.reward_net import RewardNet
from callup.analytics.utility import client_utility, standardised
from callup.core import draws
from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.errors import InputError, UsageError
from callup.core.index import Ids
from callup.core.per_client import PerClient
from callup.core.selector import Selector
from callup.core.types import Feedback, Plan, Round, Selection

_BLOCK = 1024  # clients at a time: what the network makes of them stays in the processor's cache
_MOST_IN_FULL_Z = 2_000  # observations, and clients: together they take about a second a round


@SELECTORS.add(
    "nccb",
    paper="Cao, Pan, Zhu, Liu, Birds of a Feather Help",
    needs=("features", "loss_rms", "num_examples"),
    presets={"recent": {"memory": 300, "steps": 10}},
    cost="O(N p) for the bounds and O(steps n p) to train on n clients seen; p = 8,256 parameters for 64 features",
)
@dataclass(repr=False)
class Nccb(Selector):
    """Explore every cluster of similar clients, then take the highest upper bounds of a neural reward estimate.

    Clients send a fingerprint x of their data once and are clustered by it. One client is drawn from each cluster that
    was called at most `explore` times; places that are left go to the highest bound. f is a network of width w with
    gradient g, and the reward it learns is a client's utility:

        bound   = f(x) + gamma sqrt(g^T Z^-1 g / w),   Z = ridge I + sum g g^T / w
        utility = n_i sqrt(mean squared loss)

    explore: the paper's k; every cluster is explored k + 1 times. clusters: their number; 0 is the root of N, and at
    least the size of a cohort. ridge: the paper's lambda. rate, steps: of gradient descent after each round, from
    where the last one ended. z: diag keeps the diagonal of Z alone; full is exact, for up to 2,000 clients and the last
    2,000 reports. per_reward: train after each reward, not once a round. memory: train on the last so many rewards; 0
    is all. Training on 10,000 rewards takes some tenths of a second a round; the preset recent takes ten steps on the
    last 300 and needs less than a hundredth.

    Differs from the paper: Eq. 9 has sqrt(m) where the width is meant, and Eq. 14 a number where the outer product is.
    The paper does not say how to cluster (here k-means), nor layers, width, lambda, gamma, rate or steps (the defaults
    are ours). Features of 0 and 1 become -1 and +1; rows have length 1 and enter twice, so that f begins at 0.
    Rewards are standardised by the mean and deviation of those remembered, without which gamma has no scale. A step is
    rate / (number of rewards), halved when the loss would rise. Z grows by gradients at the parameters used to choose.
    Clusters nobody of which is available are passed over; every call counts for its cluster, a reply lost or not; a
    newcomer joins the nearest cluster.
    """

    explore: int = 5
    clusters: int = 0
    gamma: float = 0.1
    ridge: float = 0.1
    layers: int = 2
    width: int = 64
    rate: float = 0.01
    steps: int = 200
    z: Literal["diag", "full"] = "diag"
    per_reward: bool = False
    memory: int = 0

    def __post_init__(self) -> None:
        for name in ("explore", "clusters", "steps", "memory"):
            if getattr(self, name) < 0:
                raise UsageError(f"nccb: {name} must not be negative, got {getattr(self, name)}")
        if not 0 <= self.gamma < np.inf:
            raise UsageError(f"nccb: gamma must not be negative and must be finite, got {self.gamma:g}")
        for name in ("ridge", "rate"):
            if not 0 < getattr(self, name) < np.inf:
                raise UsageError(f"nccb: {name} must be above 0 and finite, got {getattr(self, name):g}")
        RewardNet(2, self.width, self.layers)  # refuses a width or depth that cannot be

    @property
    def max_clients(self) -> int | None:
        return _MOST_IN_FULL_Z if self.z == "full" else None

    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        super().start(clients, plan, rng)
        features = clients.all("features")
        if not features.shape[1]:
            raise InputError("nccb: features must hold at least one number for each client")
        self.numbers_, self.bits_ = features.shape[1], are_bits(features)
        rows = self._table(clients)
        # Algorithm 1, lines 2-4.
        found = kmeans(rows, self.clusters or max(plan.k, round(len(rows) ** 0.5)), rng)
        self.centres_ = found.centres
        self.cluster_ = PerClient(-1, np.int64)
        self.cluster_.set(clients.ids, found.labels)
        self.calls_ = np.zeros(len(found.centres), np.int64)  # Ct
        self.theta_ = self._net.initial(rng)
        self.first_theta_ = self.theta_.copy()
        self.context_ = PerClient(np.zeros(2 * features.shape[1]))
        self.seen_, self.rewards_ = np.empty(0, np.int64), np.empty(0)
        self.z_ = self._spread.empty()

    def roster(self, clients: Clients, rng: np.random.Generator) -> None:  # noqa: ARG002
        self.cluster_.set(clients.ids, self._clusters(clients, clients.ids))

    def select(self, now: Round, k: int) -> Selection:
        ids = now.available
        size = min(k, len(ids))
        # Lines 7-12: one client from each of min(k, |C_un|) unexplored clusters.
        cluster = self._clusters(now.clients, ids)
        unexplored = np.unique(cluster[self.calls_[cluster] <= self.explore])
        open_clusters = draws.uniform(unexplored, size, now.rng)
        members = draws.one_of_each(ids, cluster, now.rng)
        explorers = members[np.searchsorted(cluster[members], open_clusters)]
        # Lines 13-21: places that are left, by upper confidence bound.
        rest = size - len(explorers)
        rows = np.arange(len(ids)) if rest else explorers
        estimate, bonus = self._bounds(now.clients, ids[rows])
        if rest:
            others = np.delete(rows, explorers)
            best = draws.top(ids[others], (estimate + bonus)[others], rest, now.rng)
            rows = np.concatenate([explorers, np.searchsorted(ids, best)])
            estimate, bonus = estimate[rows], bonus[rows]
        exploring = np.arange(size) < len(explorers)
        return Selection(
            ids[rows],
            scores={"exploring": exploring.astype(np.float64), "estimate": estimate, "bonus": bonus},
            notes={"clusters": float(len(self.calls_)), "unexplored": float(len(unexplored))},
        )

    def _bounds(self, clients: Clients, ids: Ids) -> tuple[np.ndarray, np.ndarray]:
        """f(x) and gamma sqrt(g^T Z^-1 g / w), Eq. 13, of each client."""
        estimate, bonus = np.empty(len(ids)), np.empty(len(ids))
        features, rows = self._table(clients).features, clients.index.rows(ids)
        known = DiagonalBounds(self._net, self.theta_, self.z_, self.bits_) if self.z == "diag" else None
        for at in range(0, len(ids), _BLOCK):
            part = slice(at, at + _BLOCK)
            if known is not None:
                estimate[part], bonus[part] = known.of(features[rows[part]])
            else:
                estimate[part], gradients = self._net.factors(self.theta_, self._inputs(clients, ids[part]))
                bonus[part] = self._spread.bonus(self.z_, gradients)
        return estimate, self.gamma * bonus

    def update(self, feedback: Feedback) -> None:
        called = self._clusters(feedback.clients, feedback.asked)
        ids = np.sort(feedback.ids)
        if len(ids):
            loss = feedback.signals["loss_rms"][np.argsort(feedback.ids)]
            rewards = client_utility(feedback.clients.of("num_examples", ids), loss)
            inputs = self._inputs(feedback.clients, ids)
            self.context_.set(ids, inputs)
            # Eq. 14, with gradients at the parameters that chose these clients.
            self.z_ = self._spread.added(self.z_, self._net.factors(self.theta_, inputs)[1])
            each = np.arange(len(ids))[:, None] if self.per_reward else [slice(None)]
            for part in each:
                self.seen_ = np.append(self.seen_, ids[part])[-self.memory :]
                self.rewards_ = np.append(self.rewards_, rewards[part])[-self.memory :]
                self._train()
        # Line 24: for the cluster of everyone who was selected.
        np.add.at(self.calls_, called, 1)

    def _train(self) -> None:
        """Line 23: on everything remembered, from where the parameters stand."""
        ids, place, times = np.unique(self.seen_, return_inverse=True, return_counts=True)
        reward = np.bincount(place, standardised(self.rewards_)) / times
        seen = Observed(self.context_.get(ids), reward, times.astype(np.float64))
        self.theta_ = fit(
            self._net, self.theta_, self.first_theta_, seen, ridge=self.ridge, rate=self.rate, steps=self.steps
        )

    @property
    def _net(self) -> RewardNet:
        return RewardNet(2 * self.numbers_, self.width, self.layers)

    @property
    def _spread(self) -> DiagonalZ | FullZ:
        if self.z == "diag":
            return DiagonalZ(self._net, self.ridge)
        return FullZ(self._net, self.ridge, min(self.memory or _MOST_IN_FULL_Z, _MOST_IN_FULL_Z))

    def _clusters(self, clients: Clients, ids: Ids) -> np.ndarray:
        """The cluster of each client; of a newcomer, the one whose centre is nearest."""
        cluster = self.cluster_.get(ids)
        new = cluster < 0
        if new.any():
            cluster[new] = nearest(self._table(clients)[clients.index.rows(ids[new])], self.centres_)
        return cluster

    def _inputs(self, clients: Clients, ids: Ids) -> np.ndarray:
        return doubled(self._table(clients)[clients.index.rows(ids)])

    def _table(self, clients: Clients) -> UnitRows:
        """Everyone's context, a row of length 1."""
        table = UnitRows(clients.all("features"), self.bits_)
        if table.shape[1] != self.numbers_:
            raise InputError(f"nccb: features had {self.numbers_} numbers when the run began, now {table.shape[1]}")
        return table
