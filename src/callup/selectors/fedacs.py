"""FedACS: let the clients' gradients duel, draw the cohort from a pool of likely winners."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from callup.analytics import skewness
from callup.core import draws
from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.errors import UsageError
from callup.core.per_client import PerClient
from callup.core.selector import Selector
from callup.core.signals import Needs
from callup.core.types import Feedback, Plan, Round, Selection

_MOST_DRAWS = 2_000_000  # of Beta variables in a round: about a quarter of a second
_BLOCK = 1 << 18  # Beta draws at a time: 2 MB


@SELECTORS.add(
    "fedacs",
    paper="Wang, Zhu, Wang, Han, IWQoS 2021",
    needs=("gradient|update", "num_examples?"),
    cost="O(pool N^2) Beta draws while that is small, then O(N)",
)
@dataclass(repr=False)
class FedAcs(Selector):
    """Prefer clients whose gradient lies near the mean: Thompson sampling on duels won, then a random cohort.

    pool: the paper's lambda, the share of available clients that form the pool. 1 is random selection; the least,
    k/N, always takes the likely winners. eta: what a duel counts. insight: gradient is one full-batch step at the
    received model; update is the result of local training, free of extra work, and outside the paper's theory.
    size_aware: the distance from the mean grows with the square root of a client's samples.
    redraw: exact draws every client anew for each place in the pool and refuses federations that need more than two
    million draws a round, 2,236 clients at pool=0.4; single draws once and takes the best, which explores less; auto
    is exact up to there and single above. The selection's notes say which it was.

    Differs from the paper: the pool is a share of the available clients, not of all; the mean gradient divides by
    the number of participants (Eq. 27 divides by N); the norm is over the whole vector, and the sum of norms over
    tensors, as in the authors' code, is not offered, because replies are flat vectors; rewards are rounded to 36
    bits before a duel, so that equal clients do not duel over the last bits.
    """

    pool: float = 0.4
    eta: float = 1.0
    insight: Literal["gradient", "update"] = "gradient"
    redraw: Literal["exact", "single", "auto"] = "auto"
    size_aware: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.pool <= 1:
            raise UsageError(f"fedacs: pool must be above 0 and at most 1, got {self.pool:g}")
        if not 0 < self.eta < np.inf:
            raise UsageError(f"fedacs: eta must be above 0 and finite, got {self.eta:g}")

    @property
    def needs(self) -> Needs:
        return Needs.of((self.insight, "num_examples") if self.size_aware else (self.insight,))

    @property
    def max_clients(self) -> int | None:
        return math.isqrt(int(_MOST_DRAWS / self.pool)) if self.redraw == "exact" else None

    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        super().start(clients, plan, rng)
        self.wins_ = PerClient()  # A_i
        self.losses_ = PerClient()  # B_i

    def select(self, now: Round, k: int) -> Selection:
        # Algorithm 1, line 2: P = lambda N, at least the cohort and at most everyone.
        n = len(now.available)
        size = min(max(round(self.pool * n), k), n)
        exact = self.redraw == "exact" or (self.redraw == "auto" and size * n <= _MOST_DRAWS)
        # Lines 3-10: the pool. Line 11: a random cohort from it.
        pool = now.available if size == n else np.sort(self._pool(now, size, exact))
        chosen = draws.uniform(pool, k, now.rng)
        alpha, beta = self._posterior(chosen)
        return Selection(
            chosen,
            scores={"wins": alpha - 1, "losses": beta - 1, "win_rate": alpha / (alpha + beta)},
            notes={"pool": float(size), "exact_redraw": float(exact)},
        )

    def _pool(self, now: Round, size: int, exact: bool) -> np.ndarray:
        """The clients that lead when each draws theta_i from its posterior, in the order they entered."""
        if not exact:
            return draws.top(now.available, now.rng.beta(*self._posterior(now.available)), size, now.rng)
        left = draws.uniform(now.available, len(now.available), now.rng)  # in random order: argmax takes the first tie
        pool = np.empty(0, np.int64)
        while len(pool) < size:
            steps = min(size - len(pool), max(1, _BLOCK // len(left)))
            theta = draws.quantised(now.rng.beta(*self._posterior(left), (steps, len(left))))
            leaders = np.empty(steps, np.intp)
            for step in range(steps):
                leaders[step] = theta[step].argmax()
                theta[step + 1 :, leaders[step]] = -1.0  # who is in the pool draws no more
            pool = np.concatenate([pool, left[leaders]])
            left = np.delete(left, leaders)
        return pool

    def _posterior(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Beta(A_i + 1, B_i + 1)."""
        return self.wins_.get(ids) + 1, self.losses_.get(ids) + 1

    def update(self, feedback: Feedback) -> None:
        if len(feedback.ids) < 2:
            return
        sizes = feedback.clients.of("num_examples", feedback.ids) if self.size_aware else None
        reward = draws.quantised(skewness.rewards(feedback.signals[self.insight], sizes))
        # Algorithm 2: of every two participants the one of higher reward wins; equals do not duel.
        ranked = np.sort(reward)
        below = np.searchsorted(ranked, reward, "left")
        above = len(ranked) - np.searchsorted(ranked, reward, "right")
        self.wins_.add(feedback.ids, self.eta * below)
        self.losses_.add(feedback.ids, self.eta * above)
