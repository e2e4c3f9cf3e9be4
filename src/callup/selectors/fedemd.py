"""FedEMD: call unusual clients early, and less and less as their classes have been seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from callup.analytics import emd, maverick
from callup.analytics.rehearsal import Rehearsal, fit
from callup.core import draws
from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.errors import InputError, UsageError
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

    D_g are the label counts of all clients, D_c those of everyone chosen so far, D_i a client's own, t the round:

        P(i) = softmax( EMD(D_g, D_i) - t beta EMD(D_c, D_i) )

    beta: how fast the pull towards what was already seen grows; the paper uses 0.008 to 0.01 on Fashion-MNIST, and
    0.1 calls Mavericks too rarely. With beta=auto the selection is rehearsed over all rounds before training, and
    beta is chosen so that a Maverick's mean chance in a draw is 1/N, give or take `tolerance` times 1/N; the notes
    say which beta and which chance came out. metric, norm: how two label distributions are compared; see
    `callup.analytics.emd.distances`.

    Differs from the paper: the text leaves the ground metric and the normalisation open. The default, half the summed
    difference of label shares without scaling, gives the behaviour the paper describes; norm=ref_class is its printed
    formula, which avoids Mavericks instead. The reference class of ref_class and sorted_counts is drawn from those
    that most clients hold. Nothing has been seen before the first round, so its probabilities rest on the global
    distance alone. A client without samples is asked only when nobody else is left. In the rehearsal everybody is
    online, Mavericks are those found by `callup.analytics.maverick.find`, and where there is none the tenth of the
    clients farthest from the global distribution stand in, to whom the paper's Remark 1 extends; where no beta
    reaches 1/N, the nearest tried is taken.
    """

    schema: ClassVar[int] = 2

    beta: float | Literal["auto"] = 0.01
    metric: emd.Metric = "tv"
    norm: emd.Norm = "none"
    tolerance: float = 0.05

    def __post_init__(self) -> None:
        if self.beta != "auto" and not 0 <= self.beta < np.inf:
            raise UsageError(f"fedemd: beta must not be negative and must be finite, got {self.beta:g}")
        if not 0 < self.tolerance < 1:
            raise UsageError(f"fedemd: tolerance must lie between 0 and 1, got {self.tolerance:g}")

    @property
    def favour(self) -> float:
        return 2.0  # an exclusive Maverick among 50 clients is called 1.9 times as often as others at first

    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        super().start(clients, plan, rng)
        holders = (clients.all("label_counts") > 0).sum(axis=0)
        self.seen_ = np.zeros(len(holders))  # D_c
        # "One class randomly chosen except for the Maverick class": one that as many clients as possible hold.
        self.reference_ = int(rng.choice(np.flatnonzero(holders == holders.max())))
        if self.beta == "auto":
            self.beta_, self.rehearsed_ = self._rehearsed(clients, plan, rng)
        else:
            self.beta_ = float(self.beta)

    def _rehearsed(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> tuple[float, float]:
        """beta by the preliminary simulation, and the mean chance of a Maverick that it gave."""
        if plan.rounds is None:
            raise InputError("fedemd: beta=auto rehearses the whole run; set rounds in the plan, or give a number")
        guess = 2 / plan.rounds  # 0.01 for the paper's 200 rounds
        counts, holds = _holders(clients)
        if not holds.any():
            return guess, 1 / len(clients)
        far = self._far(clients)
        rare = sorted({found.client for found in maverick.find(counts)})
        watched = np.array(rare) if rare else np.flatnonzero(far >= np.sort(far)[-max(len(far) // 10, 1)])
        # One run over thousands of clients is as steady as several over fifty.
        seeds = tuple(int(seed) for seed in rng.integers(0, 2**63, 4 if len(far) <= 5000 else 1))
        runs = Rehearsal(counts, far, lambda seen: self._distances(seen, counts), plan.k, plan.rounds, seeds)
        aim = 1 / len(far)
        return fit(lambda beta: float(runs.trajectory(beta, watched).mean()), aim, self.tolerance * aim, guess)

    def select(self, now: Round, k: int) -> Selection:
        far, near, log_weights = self._parts(now)
        # Eq. 17: weighted draws without replacement.
        chosen = draws.weighted(now.available, log_weights, k, now.rng)
        rows = np.searchsorted(now.available, chosen)
        parts = {"probability": _softmax(log_weights), "emd_global": far, "emd_seen": near}
        notes = {"beta": self.beta_} | ({"rehearsed": self.rehearsed_} if self.beta == "auto" else {})
        return Selection(chosen, scores={name: part[rows] for name, part in parts.items()}, notes=notes)

    def probabilities(self, now: Round) -> np.ndarray:
        """Eq. 14, aligned with `now.available`: the chance of each client in a single draw."""
        return _softmax(self._parts(now)[2])

    def _parts(self, now: Round) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """emd_g, emd_c and the exponents of Eq. 14 for the available clients."""
        clients = now.clients
        counts, holds = _holders(clients)
        far, near = np.zeros(len(clients)), np.zeros(len(clients))
        # Eq. 15 is the same in every round; Eq. 16 compares with the counts of all clients selected so far.
        far[holds] = self._far(clients)
        if self.seen_.any():
            near[holds] = self._distances(self.seen_, counts)
        log_weights = np.where(holds, far - now.index * self.beta_ * near, -np.inf)
        rows = clients.index.rows(now.available)
        return far[rows], near[rows], log_weights[rows]

    def _far(self, clients: Clients) -> np.ndarray:
        """emd_g of each client that holds samples."""
        counts, _ = _holders(clients)
        key = f"fedemd {self.metric} {self.norm} {self.reference_}"
        return clients.derived(key, lambda: self._distances(counts.sum(axis=0), counts))

    def _distances(self, target: np.ndarray, counts: np.ndarray) -> np.ndarray:
        return emd.distances(target, counts, self.metric, self.norm, self.reference_)

    def update(self, feedback: Feedback) -> None:
        # Algorithm 1, line 8: everyone selected counts, whether or not the reply came back.
        self.seen_ = self.seen_ + feedback.clients.of("label_counts", feedback.asked).sum(axis=0)


def _holders(clients: Clients) -> tuple[np.ndarray, np.ndarray]:
    """The label counts of the clients that hold samples, and a mask over all: which those are."""
    counts = clients.all("label_counts")
    holds = np.asarray(counts.any(axis=1))
    return counts if holds.all() else counts[holds], holds


def _softmax(exponents: np.ndarray) -> np.ndarray:
    """exp, normalised; equal shares when no client has any weight."""
    top = exponents.max(initial=-np.inf)
    weights = np.exp(exponents - top) if np.isfinite(top) else np.ones(len(exponents))
    return np.asarray(weights / weights.sum())
