"""Active FL: draw clients in proportion to exp(valuation), where the valuation is sqrt(n) times their loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from callup.analytics.shares import floor_share
from callup.core import draws
from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.errors import UsageError
from callup.core.per_client import PerClient
from callup.core.selector import Selector
from callup.core.types import Feedback, Plan, Round, Selection

_LARGEST = 1e300  # of a valuation: infinity is kept for clients that never reported


@SELECTORS.add(
    "active-fl",
    paper="Goetz, Malik, Bui, Moon, Liu, Kumar, arXiv 1909.12641",
    needs=("num_examples", "loss"),
    cost="O(N)",
    one_by_one=True,
)
@dataclass(repr=False)
class ActiveFl(Selector):
    """Leave out the lowest valuations, draw most places by softmax of the rest and a few uniformly from everyone.

    A client's valuation is the sum of its losses over the root of its size, sqrt(n_i) times the mean loss. It is
    refreshed when the client trains and kept until then.

        v_i = sqrt(n_i) F_i(w)
        p_i ~ exp(alpha2 v_i), and 0 for the floor(alpha1 N) lowest v_i

    alpha1: the share of clients left out. alpha2: how sharply high valuations are preferred. alpha3: the share of the
    cohort that is drawn uniformly from all who are left, those left out included; floor((1 - alpha3) k) places are
    drawn by p, so a cohort of one is always uniform.

    Differs from the paper: a client that never reported has no valuation yet and comes before all others; the paper
    asks everyone once before the first round. N counts the available clients. Where fewer clients keep a chance than
    there are places, the places left over are filled uniformly. The paper's text was not at hand: the constants 0.75,
    0.01 and 0.1 and the loss before training are those of FedCor's code.
    """

    alpha1: float = 0.75
    alpha2: float = 0.01
    alpha3: float = 0.1

    def __post_init__(self) -> None:
        for name, value in (("alpha1", self.alpha1), ("alpha3", self.alpha3)):
            if not 0 <= value <= 1:
                raise UsageError(f"active-fl: {name} must be a share from 0 to 1, got {value:g}")
        if not 0 <= self.alpha2 < np.inf:
            raise UsageError(f"active-fl: alpha2 must not be negative and must be finite, got {self.alpha2:g}")

    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        super().start(clients, plan, rng)
        self.valuation_ = PerClient(np.inf)

    def select(self, now: Round, k: int) -> Selection:
        ids = now.available
        size = min(k, len(ids))
        valuation = self.valuation_.get(ids)
        # Algorithm 1: the floor(alpha1 N) lowest valuations have no chance in this round.
        dropped = floor_share(self.alpha1, len(ids))
        kept = draws.among_top(ids, valuation, len(ids) - dropped, now.rng)
        log_weights = np.where(kept, self._exponents(valuation), -np.inf)
        by_value = draws.weighted(ids, log_weights, floor_share(1 - self.alpha3, size), now.rng)
        # The rest of the cohort: uniformly from everyone who is not in it yet.
        others = np.delete(ids, np.searchsorted(ids, by_value))
        chosen = np.concatenate([by_value, draws.uniform(others, size - len(by_value), now.rng)])
        return Selection(
            chosen,
            scores={
                "valuation": valuation[np.searchsorted(ids, chosen)],
                "by_value": (np.arange(size) < len(by_value)).astype(np.float64),
            },
            notes={"left_out": float(dropped)},
        )

    def _exponents(self, valuation: np.ndarray) -> np.ndarray:
        """alpha2 v_i; a client that never reported comes first even when alpha2 is 0 and all others are alike."""
        with np.errstate(over="ignore", invalid="ignore"):
            exponents = np.clip(self.alpha2 * valuation, -_LARGEST, _LARGEST)
        return np.asarray(np.where(np.isinf(valuation), np.inf, exponents))

    def update(self, feedback: Feedback) -> None:
        if len(feedback.ids):
            sizes = feedback.clients.of("num_examples", feedback.ids)
            with np.errstate(over="ignore"):
                valuation = np.sqrt(sizes) * feedback.signals["loss"]
            self.valuation_.set(feedback.ids, np.clip(valuation, -_LARGEST, _LARGEST))
