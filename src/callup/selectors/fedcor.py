"""FedCor: learn whose losses move together, call those whose training moves most of the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from callup.analytics.gaussian_process import fitted, groups, most_telling
from callup.core import draws
from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.errors import UsageError
from callup.core.index import Ids
from callup.core.per_client import PerClient
from callup.core.randomness import client_uniforms, stream
from callup.core.selector import Selector
from callup.core.types import Feedback, Plan, Round, Selection

_FAR = 10.0  # typical changes: what lies farther counts as that far
_MOST_LOSS = 1e100  # differences of such losses still are numbers


@SELECTORS.add(
    "fedcor",
    paper="Tang et al., CVPR 2022",
    needs=("loss@probe", "num_examples"),
    cost="O(k N), and O(steps memory N) after a measured round, which asks everyone available for a loss, twice",
    presets={"cifar10": {"warm_up": 20, "interval": 50, "age_weight": 0.99, "memory": 30}},
    max_clients=2_000,
)
@dataclass(repr=False)
class FedCor(Selector):
    """Model the changes of all clients' losses as one Gaussian process; call those that tell most about the others.

    In warm_up rounds clients are drawn at random and everyone available is asked for its loss, so that it is seen how
    each round moved each loss. The covariance of two clients is the inner product of their places in a space of few
    dimensions, and the places are fitted by maximum likelihood. Then each pick takes the highest

        discount_k (sum_i p_i Sigma_ik) sqrt(Sigma_kk) / (Sigma_kk + noise^2)

    and Sigma becomes the covariance given that client, so that the next pick tells something new. Each call multiplies
    the discount of a client by decay. Every `interval` rounds one more random round is measured, the places are fitted
    from where they stand, and discounts begin at 1 again.

    memory: how many measured rounds are remembered; a round counts age_weight to the power of its age in rounds. steps,
    rate: of gradient ascent, by Adam, after each measured round.

    Differs from the paper: the authors' code trains an extra random cohort to measure a change after the warm-up; here
    every interval-th round is that cohort, and what it learns is kept. A change is known of clients available in both
    rounds, and used once a client has two. Changes are taken about each client's mean, divided by their typical size,
    the median, and cut at ten times that; noise is in the same units, so that neither the scale of the loss nor one
    liar matters. The fit begins with the first changes, 100 steps a round, where the authors' code fits 1,000 steps at
    the end of the warm-up. Other defaults are those its authors give for Fashion-MNIST, and cifar10 those for CIFAR-10;
    they remember 100 and 500 rounds, which hold about 25 and 30 measured ones.
    """

    warm_up: int = 15
    interval: int = 10
    decay: float = 0.9
    dimensions: int = 15
    noise: float = 0.01
    age_weight: float = 0.95
    memory: int = 25
    steps: int = 100
    rate: float = 0.01

    def __post_init__(self) -> None:
        for name, least in (("warm_up", 1), ("interval", 2), ("dimensions", 1), ("memory", 2), ("steps", 1)):
            if getattr(self, name) < least:
                raise UsageError(f"fedcor: {name} must be at least {least}, got {getattr(self, name)}")
        for name in ("decay", "age_weight"):
            if not 0 < getattr(self, name) <= 1:
                raise UsageError(f"fedcor: {name} must be above 0 and at most 1, got {getattr(self, name):g}")
        for name in ("noise", "rate"):
            if not 0 < getattr(self, name) < np.inf:
                raise UsageError(f"fedcor: {name} must be above 0 and finite, got {getattr(self, name):g}")

    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        super().start(clients, plan, rng)
        self.key_ = int(rng.integers(2**63))  # of the places where clients begin
        self.places_ = PerClient(np.zeros(self.dimensions))
        self.discount_ = PerClient(1.0)
        self.last_ = PerClient(np.zeros(2))  # a loss, and the round before which it was measured
        self.changes_ = PerClient(np.full(self.memory, np.nan))
        self.rounds_ = np.zeros(self.memory, np.int64)  # that the changes belong to; 0: none yet
        self.records_ = 0
        self.fits_ = 0

    def roster(self, clients: Clients, rng: np.random.Generator) -> None:  # noqa: ARG002
        for memory in (self.places_, self.discount_, self.last_, self.changes_):
            memory.forget(np.setdiff1d(memory.ids, clients.ids))

    def _random(self, index: int) -> bool:
        """Rounds whose effect on all losses is measured: those of the warm-up, then every interval-th."""
        return index <= self.warm_up or (index - self.warm_up) % self.interval == 0

    def select(self, now: Round, k: int) -> Selection:
        measured = self._random(now.index) or (now.index > 1 and self._random(now.index - 1))
        if measured and len(now.available):
            now.probe("loss", now.available)
        ids = draws.uniform(now.available, len(now.available), now.rng)  # in random order: ties fall on the first
        if self._random(now.index) or not self.fits_:
            chosen, gain = ids[:k], np.zeros(min(k, len(ids)))
        else:
            share = now.clients.all("num_examples")
            share = share / share.sum() if share.any() else np.full(len(share), 1 / len(share))
            places, candidates = self._places(now.clients.ids), now.clients.index.rows(ids)
            picked, gain = most_telling(places, share, candidates, self.discount_.get(ids), self.noise, k)
            chosen = ids[picked]
        return Selection(
            chosen,
            scores={"gain": gain, "discount": self.discount_.get(chosen)},
            notes={"measured": float(measured), "records": float(min(self.records_, self.memory))},
        )

    def update(self, feedback: Feedback) -> None:
        index = feedback.index
        came = self._recorded(index, *feedback.probed["loss"]) if "loss" in feedback.probed else False
        if came:
            self._fit(index)
        elif self.fits_ and not self._random(index):
            self.discount_.set(feedback.asked, self.decay * self.discount_.get(feedback.asked))

    def _recorded(self, index: int, ids: Ids, losses: np.ndarray) -> bool:
        """Keeps how the round before moved each loss; whether anybody was heard both before and after it."""
        heard = ~np.isnan(losses)
        ids, losses = ids[heard], np.clip(losses[heard], -_MOST_LOSS, _MOST_LOSS)
        before = self.last_.get(ids)
        both = before[:, 1] == index - 1 if index > 1 else np.zeros(len(ids), bool)
        self.last_.set(ids, np.column_stack([losses, np.full(len(ids), index)]))
        if not both.any():
            return False
        slot = self.records_ % self.memory
        everyone = np.union1d(self.changes_.ids, ids[both])
        table = self.changes_.get(everyone)
        table[:, slot] = np.nan  # the oldest record makes room
        table[np.searchsorted(everyone, ids[both]), slot] = losses[both] - before[both, 0]
        self.changes_.set(everyone, table)
        self.rounds_[slot] = index - 1
        self.records_ += 1
        return True

    def _fit(self, index: int) -> None:
        ids, weights = self.changes_.ids, self.age_weight ** (index - 1.0 - self.rounds_)
        records = groups(_standardised(self.changes_.values, weights), weights)
        if not records:
            return
        self.places_.set(ids, fitted(self._places(ids), records, self.noise, self.steps, self.rate))
        self.discount_.forget(self.discount_.ids)
        self.fits_ += 1

    def _places(self, ids: Ids) -> np.ndarray:
        """Where clients stand; who was never fitted, at a random place of its own, at distance 1 on average."""
        return np.where(self.places_.knows(ids)[:, None], self.places_.get(ids), self._first_places(ids))

    def _first_places(self, ids: Ids) -> np.ndarray:
        columns = []
        for column in range(self.dimensions):
            rng = stream(self.key_, "place", column)
            # Box and Muller's normal numbers from two uniforms of each client.
            radius, turn = np.sqrt(-2 * np.log(client_uniforms(rng, ids))), client_uniforms(rng, ids)
            columns.append(radius * np.cos(2 * np.pi * turn))
        return np.asarray(np.stack(columns, axis=1) / np.sqrt(self.dimensions))


def _standardised(changes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Changes about each client's weighted mean, in units of their median size; NaN for clients with a single one."""
    heard = ~np.isnan(changes)
    weighed = np.where(heard, weights, 0.0)
    total = np.maximum(weighed.sum(axis=1), np.finfo(float).tiny)
    mean = np.where(heard, changes * weighed, 0.0).sum(axis=1) / total
    away = np.where(heard & (heard.sum(axis=1) > 1)[:, None], changes - mean[:, None], np.nan)
    sizes = np.abs(away[~np.isnan(away)])
    unit = float(np.median(sizes[sizes > 0])) if (sizes > 0).any() else 1.0
    return np.asarray(np.clip(away / unit, -_FAR, _FAR))
