"""DivFL: a diverse cohort, so that every client's gradient is near that of somebody who was called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from callup.analytics.distances import euclidean
from callup.analytics.facility import lazy_greedy, stochastic_greedy
from callup.analytics.last_rows import check_rows, no_rows, table, with_rows
from callup.core import draws
from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.index import Ids
from callup.core.selector import Selector
from callup.core.signals import Needs
from callup.core.types import Feedback, Plan, Round, Selection


@SELECTORS.add(
    "divfl",
    paper="Balakrishnan, Li, Zhou, Himayat, Smith, Bilmes, ICLR 2022",
    needs=("gradient@probe?", "gradient|update"),
    cost="O(N^2 d), d the length of a gradient; keeps the last gradient of each client",
    max_clients=1_000,
)
@dataclass(repr=False)
class DivFl(Selector):
    """Choose the cohort S greedily so that sum_i min_{j in S} |g_i - g_j| is small: facility location on gradients.

    The gradients of k clients then stand for those of all. ask: once asks a client for its gradient when it is first
    available, and from then on whenever it trains; every-round asks everyone available before each choice, at the
    price of a model and a gradient each; never asks nobody, goes by the update each last sent, and calls those first
    who have sent none. greedy: lazy is the greedy choice, computed with bounds; stochastic has every pick look at a
    random tenth of the candidates, and at no fewer than k. weigh_groups: weigh each local model by the number of
    clients it stands for.

    Differs from the paper: a gradient is the one at the model the client last received, stale for all who did not take
    part, as in the paper's version without overhead; S comes from those available and is to stand for everyone whose
    gradient is known. Whoever does not answer is asked again when next available, and called meanwhile only to fill
    the cohort. The theory weighs local models by the clients they stand for; the authors' code leaves the weights to
    the average, and so does the default.
    """

    ask: Literal["once", "every-round", "never"] = "once"
    greedy: Literal["lazy", "stochastic"] = "lazy"
    weigh_groups: bool = False

    @property
    def needs(self) -> Needs:
        asks = {"once": ("gradient@probe", "gradient"), "every-round": ("gradient@probe",), "never": ("update",)}
        return Needs.of(asks[self.ask])

    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        super().start(clients, plan, rng)
        self.rows_ = no_rows()

    def roster(self, clients: Clients, rng: np.random.Generator) -> None:  # noqa: ARG002
        self.rows_.forget(np.setdiff1d(self.rows_.ids, clients.ids))

    def select(self, now: Round, k: int) -> Selection:
        if not len(now.available):
            return Selection(now.available)
        asked = self._asked(now.available)
        sent, answers = _heard(asked, now.probe("gradient", asked)) if len(asked) else (asked, np.empty((0, 0)))
        rows, known = table(self.rows_, now.clients.ids, sent, answers, "divfl")
        everyone = now.clients.ids[known]
        strangers = np.setdiff1d(now.available, everyone)
        first = draws.uniform(strangers, k, now.rng) if self.ask == "never" else strangers[:0]
        # Candidates in random order, so that ties do not fall on the lowest id.
        candidates = draws.uniform(np.intersect1d(now.available, everyone), len(now.available), now.rng)
        distances = _distances(rows if known.all() else rows[known], np.searchsorted(everyone, candidates))
        picked = self._picked(distances, k - len(first), now.rng)
        chosen = np.concatenate([first, candidates[picked]])
        chosen = np.concatenate([chosen, draws.uniform(np.setdiff1d(strangers, first), k - len(chosen), now.rng)])
        stands_for = np.ones(len(chosen))
        stands_for[np.isin(chosen, everyone)] = _stands_for(distances[picked], everyone, candidates[picked])
        return Selection(
            chosen,
            weights=stands_for if self.weigh_groups else None,
            scores={"stands_for": stands_for, "known": np.isin(chosen, everyone).astype(np.float64)},
            notes={"known": float(len(everyone)), "asked": float(len(asked))},
        )

    def _asked(self, available: Ids) -> Ids:
        if self.ask == "once":
            return np.asarray(available[~self.rows_.knows(available)])
        return available if self.ask == "every-round" else available[:0]

    def _picked(self, distances: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
        if self.greedy == "lazy":
            return lazy_greedy(distances, count)
        return stochastic_greedy(distances, count, max(count, len(distances) // 10), rng)

    def update(self, feedback: Feedback) -> None:
        # All is read before anything is kept: a report that is refused leaves no trace.
        sent = [_heard(*feedback.probed["gradient"])] if "gradient" in feedback.probed else []
        if self.ask != "every-round" and len(feedback.ids):
            sent.append((feedback.ids, feedback.signals["gradient" if self.ask == "once" else "update"]))
        check_rows(self.rows_, [rows for ids, rows in sent if len(ids)], "divfl")
        for ids, rows in sent:
            if len(ids):
                self.rows_ = with_rows(self.rows_, ids, rows, "divfl")


def _heard(ids: Ids, answers: np.ndarray) -> tuple[Ids, np.ndarray]:
    """Without those who kept silent."""
    spoke = ~np.isnan(answers).any(axis=1)
    return ids[spoke], answers[spoke]


def _distances(rows: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Of these rows from all rows; where they are most of them, a table with itself takes less."""
    return euclidean(rows, rows)[chosen] if 2 * len(chosen) > len(rows) else euclidean(rows[chosen], rows)


def _stands_for(distances: np.ndarray, everyone: Ids, picked: Ids) -> np.ndarray:
    """How many clients each of the picked is nearest to, itself always; ties fall on the one picked earlier."""
    if not len(picked):
        return np.empty(0)
    nearest = draws.quantised(distances).argmin(axis=0)
    nearest[np.searchsorted(everyone, picked)] = np.arange(len(picked))
    return np.bincount(nearest, minlength=len(picked)).astype(np.float64)
