"""Influence: call clients in proportion to what their past rounds would have lacked without them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from callup.analytics.contribution_law import check_memory, log_weights, recalled, remember
from callup.core import draws
from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.per_client import PerClient
from callup.core.selector import Selector
from callup.core.signals import Needs
from callup.core.types import Feedback, Plan, Round, Selection


@SELECTORS.add(
    "influence",
    paper="leave-one-out influence in FedEMD, Huang et al., 2021",
    needs=("contribution:by=influence",),
    cost="O(N), and at the server k + 1 models scored on validation data",
)
@dataclass(repr=False)
class InfluenceSelector(Selector):
    """Draw clients in proportion to their mean influence, counted from the least.

    A reply's influence is the quality on validation data of the aggregate of all replies less that of all but this
    one; positive is helpful. With phi_i a client's running mean:

        phi_i <- decay phi_i + (1 - decay) value
        weight_i = phi_i - min phi + floor (max phi - min phi)

    decay: the share of the past. floor: what the least has of the range. metric: quality is minus the loss, or the
    accuracy.

    Differs from the paper: FedEMD measures influence and does not select by it; the law is that of our shapley
    selector. Its Eq. 6 has the opposite sign, with helpful negative.
    """

    decay: float = 0.5
    floor: float = 0.01
    metric: Literal["loss", "accuracy"] = "loss"

    def __post_init__(self) -> None:
        check_memory(self.decay, self.floor, "influence")

    @property
    def needs(self) -> Needs:
        return Needs.of((f"contribution:by=influence,metric={self.metric}",))

    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        super().start(clients, plan, rng)
        self.means_ = PerClient()

    def select(self, now: Round, k: int) -> Selection:
        values = recalled(self.means_, now.available)
        chosen = draws.weighted(now.available, log_weights(values, self.floor), k, now.rng)
        return Selection(chosen, scores={"contribution": values[np.searchsorted(now.available, chosen)]})

    def update(self, feedback: Feedback) -> None:
        if len(feedback.ids):
            remember(self.means_, feedback.ids, feedback.signals["contribution"], self.decay)
