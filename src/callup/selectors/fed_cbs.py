"""Fed-CBS: draw clients one after the other so that their pooled classes come out balanced."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from callup.analytics.luck import within_reach
from callup.analytics.pool import candidate_pool
from callup.analytics.running_qcid import RunningQcid
from callup.core import draws
from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.errors import InputError, UsageError
from callup.core.index import Ids
from callup.core.per_client import PerClient
from callup.core.selector import Selector
from callup.core.types import Feedback, Plan, Round, Selection, check_k

_SOME, _MANY = 1 << 10, 1 << 16  # clients: from here on it pays to leave some out, and to look at their luck first


@SELECTORS.add(
    "fed-cbs",
    paper="Zhang et al., ICML 2023",
    needs=("label_counts|label_gram", "num_examples"),
    presets={"sharp": {"scale": 3.5}, "shifted": {"offset": 9.0}, "pool": {"candidates": 1000}},
    cost="O(N k) from label_gram, O(N k B) from label_counts; with a pool O(N) and its size in place of N",
)
@dataclass(repr=False)
class FedCbs(Selector):
    """Sample each next client in inverse power of the class imbalance (QCID) it would leave, with some exploration.

    With M the clients drawn so far, T_c how often c was chosen before, plus one, and t the round:

        QCID(M)   = sum_b (share of class b in M - 1/B)^2
        1st draw:   P(c) ~ QCID({c})^-beta_1 + explore sqrt(3 ln t / (2 T_c))
        m-th draw:  P(c) ~ QCID(M + c)^-beta_m,   beta_m = scale m + offset

    scale, offset: the exponent of the m-th draw is scale*m + offset. explore: the paper's lambda, how much clients
    that were rarely chosen gain in the first draw. floor: the paper's L_b, the least QCID, so that perfect balance
    has a finite weight. candidates: look only at so many clients, drawn uniformly in each round; the preset pool
    takes 1000, for federations of millions.

    Differs from the paper: from the second draw on, factors equal for all candidates are left out; this includes the
    first client's bonus, which the paper writes into the second draw. The paper's exponent m does not give its own
    QCID tables. The presets sharp (3.5m) and shifted (m + 9) come close and are calibrated to those tables, not
    taken from the text; the selection's notes say which exponent was used. A pool of candidates is not in the paper,
    but acts as its experiments do, where a random part of all clients is available. A client without samples is asked
    only when nobody else is left.
    """

    scale: float = 1.0
    offset: float = 0.0
    explore: float = 10.0
    floor: float = 1e-20
    candidates: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.scale < np.inf:
            raise UsageError(f"fed-cbs: scale must not be negative and must be finite, got {self.scale:g}")
        if not 0 < self.scale + self.offset < np.inf:
            raise UsageError(
                f"fed-cbs: scale + offset, the first exponent, must be above 0 and finite, got {self._beta(1):g}"
            )
        if not 0 <= self.explore < np.inf:
            raise UsageError(f"fed-cbs: explore must not be negative and must be finite, got {self.explore:g}")
        if not 0 < self.floor < 1:
            raise UsageError(f"fed-cbs: floor must lie between 0 and 1, got {self.floor:g}")
        if self.candidates is not None:
            check_k(self.candidates, "fed-cbs: candidates")

    def _beta(self, m: int) -> float:
        return self.scale * m + self.offset

    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        super().start(clients, plan, rng)
        classes = clients.all("label_counts").shape[1] if "label_counts" in clients else plan.classes
        if classes is None:
            raise InputError("fed-cbs: label_gram alone does not tell the number of classes; set classes in the plan")
        self.classes_: int = classes
        self.times_ = PerClient(1.0)  # T_n

    def select(self, now: Round, k: int) -> Selection:
        ids = candidate_pool(now.available, self.candidates, k, now.rng)
        running = RunningQcid(now.clients, ids, self.classes_)
        times = self.times_.get(ids)
        left, could = np.ones(len(ids), bool), running.sizes > 0
        drawn: list[int] = []
        reached: list[float] = []
        for m in range(1, min(k, len(ids)) + 1):
            qcid, lowest = running.of_each(could)
            rows = self._contenders(m, now, ids, qcid, lowest, could, times) if len(lowest) else np.flatnonzero(left)
            log_weights = self._log_weights(m, now.index, qcid[rows], times[rows])
            log_weights[~could[rows]] = -np.inf
            pick = draws.weighted(ids[rows], log_weights, 1, now.rng)
            row = int(np.searchsorted(ids, pick[0]))
            running.take(row)
            left[row] = could[row] = False
            drawn.append(row)
            reached.append(float(qcid[row]))
        notes = {"scale": self.scale, "offset": self.offset}
        if self.candidates is not None:
            notes["candidates"] = len(ids)
        return Selection(
            ids[drawn],
            scores={"qcid": np.array(reached), "times_chosen": times[drawn] - 1},
            notes=notes | {"qcid": reached[-1]} if running.samples > 0 else notes,
        )

    def _log_weights(self, m: int, index: int, qcid: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Section 3.3: P(C_m = c) ~ QCID(M_{m-1} + c)^-beta_m, in log space; the first draw adds the bonus."""
        weights = np.maximum(qcid, self.floor)
        np.log(weights, out=weights)
        weights *= -self._beta(m)
        return np.asarray(np.logaddexp(weights, self._log_bonus(index, times))) if m == 1 else weights

    def _contenders(
        self,
        m: int,
        now: Round,
        ids: Ids,
        qcid: np.ndarray,
        lowest: np.ndarray,
        could: np.ndarray,
        times: np.ndarray,
    ) -> np.ndarray | slice:
        """Everyone, or, of many, those who have a chance: the rest is spared the logarithm."""
        least = qcid[lowest].min(keepdims=True)
        if len(ids) > _SOME and m > 1:  # in the first draw the bonus is still to come
            # A weight below e^-41 of the largest has no chance, see `draws.weighted`; here with room for rounding.
            floor = max(float(least[0]), self.floor)
            reach = 42 / self._beta(m) + 1e-9 * abs(math.log(floor))
            near = could & ~(qcid > floor * math.exp(min(reach, 700.0)))
            if np.count_nonzero(near) < len(near) // 4:
                return np.flatnonzero(near)
        if len(ids) <= _MANY:
            return slice(None)
        most = self._log_weights(m, now.index, least, times.min(keepdims=True))
        known = self._log_weights(m, now.index, qcid[lowest], times[lowest])
        return within_reach(ids, float(most[0]), lowest, known, now.rng)

    def _log_bonus(self, index: int, times: np.ndarray) -> np.ndarray:
        """log of lambda sqrt(3 ln k / (2 T_n)); -inf in round 1 and without exploration."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.explore) + 0.5 * np.log(3 * np.log(index) / (2 * times)))

    def update(self, feedback: Feedback) -> None:
        # Algorithm 1: T_n + 1 for everyone who was selected.
        self.times_.add(feedback.asked, 1.0)
