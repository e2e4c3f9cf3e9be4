"""k-LinUCB: one linear model of the reward for all clients; call those with the highest upper bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from callup.analytics.contexts import are_bits, unit_rows
from callup.analytics.ridge import first_inverse, spread, with_row
from callup.analytics.utility import client_utility
from callup.core import draws
from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.errors import InputError, UsageError
from callup.core.index import Ids
from callup.core.selector import Selector
from callup.core.types import Feedback, Plan, Round, Selection

_BLOCK = 4096  # clients at a time: their contexts are 2 MB for 64 features
_MOST_UTILITY = 1e100  # its square still is a number


@SELECTORS.add(
    "k-linucb",
    paper="Li et al., WWW 2010, as compared in the NCCB paper",
    needs=("features", "loss_rms", "num_examples"),
    cost="O(N d^2) for the bounds and O(k d^2) to learn; d = 65 for 64 features",
    one_by_one=True,
)
@dataclass(repr=False)
class KLinUcb(Selector):
    """Take the k highest theta.x + alpha sqrt(x^T A^-1 x): ridge regression of utility on a client's fingerprint.

        A = ridge I + sum x x^T,  theta = A^-1 sum r x

    x is the client's features, bits as -1 and +1, at length 1, and a constant 1; r its utility, n_i times the root
    mean square of its losses. All k rewards of a round are learned from. alpha: how much an unknown direction is
    worth. ridge: how strongly theta is held at zero.

    Differs from the paper: LinUCB chooses one arm, and has a model for each or shares one; here k clients share one,
    as in the NCCB paper, which says neither alpha nor ridge nor how x is made. Rewards are standardised by the mean and
    deviation of all so far, without which alpha has no scale.
    """

    alpha: float = 1.0
    ridge: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.alpha < np.inf:
            raise UsageError(f"k-linucb: alpha must not be negative and must be finite, got {self.alpha:g}")
        if not 0 < self.ridge < np.inf:
            raise UsageError(f"k-linucb: ridge must be above 0 and finite, got {self.ridge:g}")

    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        super().start(clients, plan, rng)
        features = clients.all("features")
        self.numbers_, self.bits_ = features.shape[1], are_bits(features)
        size = self.numbers_ + 1
        self.inverse_ = first_inverse(size, self.ridge)  # A^-1
        self.rows_ = np.zeros(size)  # sum x
        self.products_ = np.zeros(size)  # sum r x
        self.reports_ = 0
        self.mean_, self.squares_ = 0.0, 0.0  # of r: the mean, and the sum of squares about it

    def select(self, now: Round, k: int) -> Selection:
        estimate, bonus = np.empty(len(now.available)), np.empty(len(now.available))
        theta = self.theta()
        for at in range(0, len(now.available), _BLOCK):
            part = slice(at, at + _BLOCK)
            rows = self._contexts(now.clients, now.available[part])
            estimate[part] = rows @ theta
            bonus[part] = self.alpha * spread(self.inverse_, rows)
        chosen = draws.top(now.available, estimate + bonus, k, now.rng)
        rows = np.searchsorted(now.available, chosen)
        return Selection(chosen, scores={"estimate": estimate[rows], "bonus": bonus[rows]})

    def theta(self) -> np.ndarray:
        """A^-1 sum (r - mean) / deviation x: what a direction in the features is worth."""
        deviation = np.sqrt(self.squares_ / self.reports_) if self.reports_ else 0.0
        if deviation == 0:
            return np.zeros(len(self.rows_))
        return np.asarray(self.inverse_ @ ((self.products_ - self.mean_ * self.rows_) / deviation))

    def update(self, feedback: Feedback) -> None:
        if not len(feedback.ids):
            return
        order = np.argsort(feedback.ids)  # sums do not hang on which reply came first
        ids = feedback.ids[order]
        sizes = feedback.clients.of("num_examples", ids)
        rewards = np.minimum(client_utility(sizes, feedback.signals["loss_rms"][order]), _MOST_UTILITY)
        for row, reward in zip(self._contexts(feedback.clients, ids), rewards.tolist(), strict=True):
            self.inverse_ = with_row(self.inverse_, row)
            self.rows_ = self.rows_ + row
            self.products_ = self.products_ + reward * row
            self.reports_ += 1
            away = reward - self.mean_
            self.mean_ += away / self.reports_
            self.squares_ += away * (reward - self.mean_)

    def _contexts(self, clients: Clients, ids: Ids) -> np.ndarray:
        """x of each client."""
        features = clients.of("features", ids)
        if features.shape[1] != self.numbers_:
            raise InputError(
                f"k-linucb: features had {self.numbers_} numbers when the run began, now {features.shape[1]}"
            )
        return np.concatenate([unit_rows(features, self.bits_), np.ones((len(ids), 1))], axis=1)
