"""Fed-cucb: read each client's class ratio from the gradients of its model, then balance the cohort greedily."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from callup.analytics.class_ratio import Form, balance_reward, class_ratios, cross_entropy
from callup.analytics.greedy_fill import fill_greedily
from callup.analytics.pool import candidate_pool
from callup.core import draws
from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.errors import InputError, UsageError
from callup.core.index import Ids
from callup.core.per_client import PerClient
from callup.core.selector import Selector
from callup.core.signals import Needs
from callup.core.types import Feedback, Plan, Round, Selection, check_k


@SELECTORS.add(
    "fed-cucb",
    paper="Yang, Wang, Zhu, Wang, Qian, EUSIPCO 2021",
    needs=("class_gradients", "num_examples?"),
    presets={"released": {"explore": 0.8, "forget": 1.0}, "pool": {"candidates": 1000}},
    cost="O(N k B), with a pool O(N) and its size in place of N; and k B backward passes over 32 held-out samples",
    max_clients=100_000,
)
@dataclass(repr=False)
class FedCucb(Selector):
    """Call every client once to estimate its label shares; then the most rewarding one and those that balance it.

    A returned model has small gradients on classes it was trained on. With G_b the mean squared gradient on held-out
    samples of class b, and averages over a client's reports:

        R_b ~ min G / G_b        r = 1 / CE(U, R)
        first client: the highest  r_i + explore sqrt(3 ln t / (2 T_i))
        each next one: the least   CE(U, pooled R)

    explore: the paper's alpha. forget: a report of so many rounds ago counts forget to that power. form, beta: inverse
    as above, or R_b ~ exp(beta min G / G_b). pool: equal counts all clients the same; size counts their samples.
    patience: how often a client is asked in vain before the opening sweep passes it over. The preset released has the
    constants of the authors' code, where nothing is forgotten. candidates: after the first client look only at so many,
    drawn uniformly in each round; the preset pool takes 1000, and then there is no limit on the federation.

    How good the estimate is: fashion14-mlp, 100 clients, one local training from the first model and from one of 80 %
    accuracy. A client of a single class is recovered: its class gets a share of 0.999 and 0.96. Half the summed error
    of the shares of clients with two equal classes is 0.30 and 0.41; of Dirichlet clients 0.16 and 0.25 with alpha 0.5,
    0.37 and 0.54 with alpha 10; of IID clients 0.31 and 0.58. To say that all classes are equally frequent is off by
    0.80, 0.80, 0.37 and 0.12: on well mixed clients the estimate is worse than none. Fed-CBS shows the same in its
    Figure 2. See `callup.simulation.class_ratio_study`.

    Differs from the paper: with availability the sweep takes whoever has not reported yet, in random order among those
    asked equally often. A client the sweep gave up can still be first, by its bonus and the mean reward of the others,
    or fill a place nobody else can. T_i counts how often i was asked; rounds are counted from 1. The auxiliary samples
    are held out from the training data; the authors' code takes them from the test set. explore and forget are those
    that Fed-CBS states for this method; the exponential form of the paper's text is from memory and its beta was not
    verified. Ties are broken at random.
    """

    explore: float = 0.2
    forget: float = 0.99
    form: Form = "inverse"
    beta: float = 1.0
    pool: Literal["equal", "size"] = "equal"
    patience: int = 3
    candidates: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.explore < np.inf:
            raise UsageError(f"fed-cucb: explore must not be negative and must be finite, got {self.explore:g}")
        if not 0 < self.forget <= 1:
            raise UsageError(f"fed-cucb: forget must be above 0 and at most 1, got {self.forget:g}")
        if not 0 < self.beta < np.inf:
            raise UsageError(f"fed-cucb: beta must be above 0 and finite, got {self.beta:g}")
        check_k(self.patience, "fed-cucb: patience")
        if self.candidates is not None:
            check_k(self.candidates, "fed-cucb: candidates")

    @property
    def max_clients(self) -> int | None:
        return self.card.max_clients if self.candidates is None else None

    @property
    def needs(self) -> Needs:
        return Needs.of(("class_gradients", "num_examples") if self.pool == "size" else ("class_gradients",))

    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        super().start(clients, plan, rng)
        if plan.classes is None:
            raise InputError("fed-cucb estimates a share for each class; set classes in the plan")
        self.shares_ = PerClient(np.zeros(plan.classes))  # mean R
        self.reward_ = PerClient()  # mean r
        self.reports_ = PerClient()  # how much they count in these means
        self.last_ = PerClient()  # round of the last report
        self.asked_ = PerClient()  # T_i

    def select(self, now: Round, k: int) -> Selection:
        ids = now.available
        asked, known = self.asked_.get(ids), self.reports_.knows(ids)
        # The opening sweep: each client once, then again whoever did not answer.
        unseen = ~known & (asked < self.patience)
        swept = draws.top(ids[unseen], -asked[unseen], k, now.rng)
        reward = np.where(known, self.reward_.get(ids), self._usual_reward())
        bonus = self.explore * np.sqrt(3 * np.log(now.index) / (2 * np.maximum(asked, 1)))
        balanced, reached = self._balanced(now, ~unseen, reward + bonus, k - len(swept))
        chosen = np.concatenate([swept, balanced])
        rows = np.searchsorted(ids, chosen)
        return Selection(
            chosen,
            scores={
                "reward": np.where(known, reward, np.inf)[rows],
                "bonus": bonus[rows],
                "cross_entropy": np.concatenate([np.full(len(swept), np.inf), reached]),
            },
            notes={"swept": float(len(swept))} | ({"cross_entropy": float(reached[-1])} if len(reached) else {}),
        )

    def _balanced(self, now: Round, among: np.ndarray, score: np.ndarray, count: int) -> tuple[Ids, np.ndarray]:
        """The client of the highest score and those that balance it, with the cross-entropy after each."""
        ids = now.available[among]
        if count < 1 or not len(ids):
            return ids[:0], np.empty(0)
        first = draws.top(ids, score[among], 1, now.rng)
        others = candidate_pool(ids[ids != first], self.candidates, count - 1, now.rng)
        start = self._masses(now, first)[0]
        added, reached = fill_greedily(others, self._masses(now, others), start, count - 1, now.rng)
        return np.concatenate([first, added]), np.concatenate([[cross_entropy(start)], reached])

    def _masses(self, now: Round, ids: Ids) -> np.ndarray:
        """What each client adds to the pool; nothing where nothing is known."""
        shares = self.shares_.get(ids)
        return shares * now.clients.of("num_examples", ids)[:, None] if self.pool == "size" else shares

    def _usual_reward(self) -> float:
        return float(self.reward_.values.mean()) if len(self.reward_.ids) else 0.0

    def update(self, feedback: Feedback) -> None:
        ids = feedback.ids
        if len(ids):
            shares = class_ratios(feedback.signals["class_gradients"], self.form, self.beta)
            classes = len(self.shares_.default)
            if shares.shape[1] != classes:
                raise InputError(f"fed-cucb: class_gradients tell of {shares.shape[1]} classes, the plan of {classes}")
            # Sum of forget^age x over sum of forget^age; the common factor of all past reports cancels until a new one.
            past = self.reports_.get(ids) * self.forget ** (feedback.index - self.last_.get(ids))
            self.shares_.set(ids, (past[:, None] * self.shares_.get(ids) + shares) / (past[:, None] + 1))
            self.reward_.set(ids, (past * self.reward_.get(ids) + balance_reward(shares)) / (past + 1))
            self.reports_.set(ids, past + 1)
            self.last_.set(ids, feedback.index)
        self.asked_.add(feedback.asked, 1.0)
