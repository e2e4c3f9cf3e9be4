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
    needs=("gradient|update|skewness", "num_examples?"),
    presets={"windowed": {"history": 5}},
    cost="O(pool N^2) Beta draws while that is small, then O(N)",
)
@dataclass(repr=False)
class FedAcs(Selector):
    """Prefer clients whose gradient lies near the mean: Thompson sampling on duels won, then a random cohort.

    A client whose data is like everybody's sends a gradient near the mean; the further away, the rarer that would be
    (Hoeffding). Of every two participants the nearer one wins a duel. Each place in a pool goes to the highest theta:

        R_i = -||g_i - mean g||
        R_i > R_j:  A_i += eta,  B_j += eta
        theta_i ~ Beta(A_i + 1, B_i + 1)

    pool: the paper's lambda, the share of available clients that form the pool; 1 is random selection, k/N always takes
    the likely winners. eta: what a duel counts. insight: gradient is one full-batch step at the received model; update
    is the result of local training, free of extra work and outside the theory; with skewness every client works out its
    own distance from the mean, so that the server need not see a single gradient. size_aware: the distance grows with
    the square root of a client's samples, and tells rather how surely than how much the client is skewed. history:
    participants duel also with the last rewards of so many rounds before, and a duel counts eta/history. redraw: exact
    draws theta anew for each place in the pool and refuses federations that need more than two million draws, 2,236
    clients at pool=0.4; single draws once, which explores less; auto is exact up to there.

    Notes say which redraw it was, and as mean_reward_before the mean R_i of the round before (Fig. 5). The analysis
    works alone too, without training: see `callup.analytics.skewness` and `callup.simulation.insights`.

    Differs from the paper: the pool is a share of the available clients, not of all; the mean gradient divides by
    the number of participants (Eq. 27 divides by N) and counts each once, whatever its size; the norm is over the whole
    vector, and the sum of norms over tensors, as in the authors' code, is not offered, because replies are flat
    vectors; rewards are rounded to 36 bits before a duel, so that equal clients do not duel over the last bits.
    history comes from the authors' code, where windowed, 5 rounds, is in use: who is only remembered neither wins nor
    loses. That code remembers the oldest reward in the window where this keeps the latest, and takes an equal for a
    loss.
    """

    pool: float = 0.4
    eta: float = 1.0
    insight: Literal["gradient", "update", "skewness"] = "gradient"
    redraw: Literal["exact", "single", "auto"] = "auto"
    size_aware: bool = False
    history: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.pool <= 1:
            raise UsageError(f"fedacs: pool must be above 0 and at most 1, got {self.pool:g}")
        if not 0 < self.eta < np.inf:
            raise UsageError(f"fedacs: eta must be above 0 and finite, got {self.eta:g}")
        if self.history < 0:
            raise UsageError(f"fedacs: history must be a whole number of rounds of at least 0, got {self.history}")

    @property
    def needs(self) -> Needs:
        return Needs.of((self.insight, "num_examples") if self.size_aware else (self.insight,))

    @property
    def max_clients(self) -> int | None:
        return math.isqrt(int(_MOST_DRAWS / self.pool)) if self.redraw == "exact" else None

    @property
    def favour(self) -> float:
        return 1 / self.pool  # who is always in the pool is called so often

    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        super().start(clients, plan, rng)
        self.wins_ = PerClient()  # A_i
        self.losses_ = PerClient()  # B_i
        self.past_ = PerClient(np.zeros(2))  # last reward and its round; of no more than `history` rounds
        self.mean_reward_ = math.nan  # of the last round

    def select(self, now: Round, k: int) -> Selection:
        # Algorithm 1, line 2: P = lambda N, at least the cohort and at most everyone.
        n = len(now.available)
        size = min(max(round(self.pool * n), k), n)
        exact = self.redraw == "exact" or (self.redraw == "auto" and size * n <= _MOST_DRAWS)
        # Lines 3-10: the pool. Line 11: a random cohort from it.
        pool = now.available if size == n else self._pool(now, size, exact)
        chosen = draws.uniform(pool, k, now.rng)
        alpha, beta = self._posterior(chosen)
        notes = {"pool": float(size), "exact_redraw": float(exact)}
        if math.isfinite(self.mean_reward_):
            notes["mean_reward_before"] = self.mean_reward_
        return Selection(
            chosen,
            scores={"wins": alpha - 1, "losses": beta - 1, "win_rate": alpha / (alpha + beta)},
            notes=notes,
        )

    def _pool(self, now: Round, size: int, exact: bool) -> np.ndarray:
        """The clients that lead when each draws theta_i from its posterior, sorted."""
        if not exact:
            theta = now.rng.beta(*self._posterior(now.available))
            return np.asarray(now.available[draws.among_top(now.available, theta, size, now.rng)])
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
        return np.sort(pool)

    def _posterior(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Beta(A_i + 1, B_i + 1)."""
        return self.wins_.get(ids) + 1, self.losses_.get(ids) + 1

    def update(self, feedback: Feedback) -> None:
        reward = self._rewards(feedback)
        self.mean_reward_ = float(np.sort(reward).mean()) if len(reward) else math.nan
        if not len(reward):
            return
        # Algorithm 2: of every two participants the one of higher reward wins; equals do not duel.
        rivals = np.sort(np.concatenate([reward, self._remembered(feedback)]))
        below = np.searchsorted(rivals, reward, "left")
        above = len(rivals) - np.searchsorted(rivals, reward, "right")
        step = self.eta / max(self.history, 1)
        self.wins_.add(feedback.ids, step * below)
        self.losses_.add(feedback.ids, step * above)
        self.past_.set(feedback.ids, np.column_stack([reward, np.full(len(reward), feedback.index)]))
        self.past_.forget(self.past_.ids[self.past_.values[:, 1] <= feedback.index - self.history])

    def _rewards(self, feedback: Feedback) -> np.ndarray:
        """R_i of those who reported; of nobody when one is alone, which is its own mean."""
        if len(feedback.ids) < 2:
            return np.empty(0)
        sizes = feedback.clients.of("num_examples", feedback.ids) if self.size_aware else None
        if self.insight == "skewness":
            far = feedback.signals["skewness"]
            return draws.quantised(-far if sizes is None else -far * np.sqrt(sizes))
        return draws.quantised(skewness.rewards(feedback.signals[self.insight], sizes))

    def _remembered(self, feedback: Feedback) -> np.ndarray:
        """Last rewards of those who took part in the window and not in this round."""
        recent = self.past_.values[:, 1] >= feedback.index - self.history
        return np.asarray(self.past_.values[recent & ~np.isin(self.past_.ids, feedback.ids), 0])
