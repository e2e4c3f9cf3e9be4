"""FedEMD: call unusual clients early, and less and less as their classes have been seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from callup.analytics import emd
from callup.core import draws
from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.errors import UsageError
from callup.core.selector import Selector
from callup.core.types import Feedback, Plan, Round, Selection


@SELECTORS.add(
    "fedemd",
    paper="Huang, Hong, Liu, Chen, Roos, 2021; PAKDD 2023",
    needs=("label_counts",),
    cost="O(N B)",
)
@dataclass(repr=False)
class FedEmd(Selector):
    """Draw by distance from the global label distribution, less a growing share of the distance from what was seen.

    beta: how fast the pull towards what was already seen grows; the paper uses 0.008 to 0.01 on Fashion-MNIST, and
    0.1 calls Mavericks too rarely. metric, norm: how two label distributions are compared; see
    `callup.analytics.emd.distances`.

    Differs from the paper: the text leaves the ground metric and the normalisation open. The default, half the summed
    difference of label shares without scaling, gives the behaviour the paper describes; norm=ref_class is its printed
    formula, which avoids Mavericks instead. The reference class of ref_class and sorted_counts is drawn from those
    that most clients hold. Nothing has been seen before the first round, so its probabilities rest on the global
    distance alone. A client without samples is asked only when nobody else is left.
    """

    beta: float = 0.01
    metric: emd.Metric = "tv"
    norm: emd.Norm = "none"

    def __post_init__(self) -> None:
        if not 0 <= self.beta < np.inf:
            raise UsageError(f"fedemd: beta must not be negative and must be finite, got {self.beta:g}")

    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        super().start(clients, plan, rng)
        holders = (clients.all("label_counts") > 0).sum(axis=0)
        self.seen_ = np.zeros(len(holders))  # D_c
        # "One class randomly chosen except for the Maverick class": one that as many clients as possible hold.
        self.reference_ = int(rng.choice(np.flatnonzero(holders == holders.max())))

    def select(self, now: Round, k: int) -> Selection:
        far, near, log_weights = self._parts(now)
        # Eq. 17: weighted draws without replacement.
        chosen = draws.weighted(now.available, log_weights, k, now.rng)
        rows = np.searchsorted(now.available, chosen)
        parts = {"probability": _softmax(log_weights), "emd_global": far, "emd_seen": near}
        return Selection(chosen, scores={name: part[rows] for name, part in parts.items()})

    def probabilities(self, now: Round) -> np.ndarray:
        """Eq. 14, aligned with `now.available`: the chance of each client in a single draw."""
        return _softmax(self._parts(now)[2])

    def _parts(self, now: Round) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """emd_g, emd_c and the exponents of Eq. 14 for the available clients."""
        clients = now.clients
        counts = clients.all("label_counts")
        holds = counts.any(axis=1)
        far, near = np.zeros(len(clients)), np.zeros(len(clients))
        # Eq. 15 is the same in every round; Eq. 16 compares with the counts of all clients selected so far.
        far[holds] = clients.derived(
            f"fedemd {self.metric} {self.norm} {self.reference_}",
            lambda: self._distances(counts.sum(axis=0), counts[holds]),
        )
        if self.seen_.any():
            near[holds] = self._distances(self.seen_, counts[holds])
        log_weights = np.where(holds, far - now.index * self.beta * near, -np.inf)
        rows = clients.index.rows(now.available)
        return far[rows], near[rows], log_weights[rows]

    def _distances(self, target: np.ndarray, counts: np.ndarray) -> np.ndarray:
        return emd.distances(target, counts, self.metric, self.norm, self.reference_)

    def update(self, feedback: Feedback) -> None:
        # Algorithm 1, line 8: everyone selected counts, whether or not the reply came back.
        self.seen_ = self.seen_ + feedback.clients.of("label_counts", feedback.asked).sum(axis=0)


def _softmax(exponents: np.ndarray) -> np.ndarray:
    """exp, normalised; equal shares when no client has any weight."""
    top = exponents.max(initial=-np.inf)
    weights = np.exp(exponents - top) if np.isfinite(top) else np.ones(len(exponents))
    return np.asarray(weights / weights.sum())
