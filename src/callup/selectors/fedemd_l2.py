"""FedEMD on inner products: the same law with a distance that needs nobody's label counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from callup.analytics.gram_distances import l2_to_pool, products_of
from callup.core import draws
from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.errors import UsageError
from callup.core.per_client import PerClient
from callup.core.selector import Selector
from callup.core.types import Feedback, Plan, Round, Selection


@SELECTORS.add(
    "fedemd-l2",
    paper="Huang, Hong, Liu, Chen, Roos, 2021; PAKDD 2023",
    needs=("label_counts|label_gram", "num_examples"),
    cost="O(N^2) from label_gram, O(N B) from label_counts",
)
@dataclass(repr=False)
class FedEmdL2(Selector):
    """FedEMD with Euclidean distances between label shares, which inner products of label counts give as well.

    P_g are the label shares of all clients, P_c those of everyone chosen so far, P_i a client's own, t the round:

        P(i) = softmax( ||P_g - P_i|| - t beta ||P_c - P_i|| )

    beta: how fast the pull towards what was already seen grows.

    Differs from the paper: the distance. An EMD with |.| cannot be had from inner products; this one can, and orders
    clients much as FedEMD's does (rank correlation 0.9 and more). What was seen is kept as how often each client was
    chosen, so the classes of clients that have left count no more. A client without samples is asked only when nobody
    else is left.
    """

    beta: float = 0.01

    def __post_init__(self) -> None:
        if not 0 <= self.beta < np.inf:
            raise UsageError(f"fedemd-l2: beta must not be negative and must be finite, got {self.beta:g}")

    @property
    def favour(self) -> float:
        return 2.0  # as fedemd, whose law this is

    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        super().start(clients, plan, rng)
        self.times_ = PerClient()

    def select(self, now: Round, k: int) -> Selection:
        far, near, log_weights = self._parts(now)
        chosen = draws.weighted(now.available, log_weights, k, now.rng)
        rows = np.searchsorted(now.available, chosen)
        return Selection(chosen, scores={"l2_global": far[rows], "l2_seen": near[rows]}, notes={"beta": self.beta})

    def probabilities(self, now: Round) -> np.ndarray:
        """Eq. 14, aligned with `now.available`: the chance of each client in a single draw."""
        log_weights = self._parts(now)[2]
        weights = np.exp(log_weights - log_weights.max())
        return np.asarray(weights / weights.sum())

    def _parts(self, now: Round) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Distances from all and from what was seen, and the exponents of Eq. 14, for the available clients."""
        clients, rows = now.clients, now.clients.index.rows(now.available)
        sizes = clients.all("num_examples")
        own, products = products_of(clients)
        # Eq. 15 with the pool of all clients, Eq. 16 with everyone selected so far, as often as they were.
        everyone = np.ones(len(clients))
        far = clients.derived("l2 to all", lambda: l2_to_pool(own, products, sizes, everyone))[rows]
        near = l2_to_pool(own, products, sizes, self.times_.get(clients.ids))[rows]
        holds = sizes[rows] > 0
        far, near = np.where(holds, far, 0.0), np.where(holds, near, 0.0)
        # Rounded: sums over many clients differ in their last bits from machine to machine.
        log_weights = draws.quantised(far - now.index * self.beta * near)
        return far, near, np.where(holds, log_weights, -np.inf)

    def update(self, feedback: Feedback) -> None:
        # Algorithm 1, line 8: everyone selected counts, whether or not the reply came back.
        self.times_.add(feedback.asked, 1.0)
