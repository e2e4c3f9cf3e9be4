"""Influence: call clients in proportion to what their past rounds would have lacked without them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from callup.analytics.contribution_law import ByContribution
from callup.core.catalogue import SELECTORS
from callup.core.signals import Needs


@SELECTORS.add(
    "influence",
    paper="leave-one-out influence in FedEMD, Huang et al., 2021",
    needs=("contribution:by=influence",),
    cost="O(N), and at the server k + 1 models scored on validation data",
    one_by_one=True,
)
@dataclass(repr=False)
class InfluenceSelector(ByContribution):
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

    metric: Literal["loss", "accuracy"] = "loss"

    @property
    def needs(self) -> Needs:
        return Needs.of((f"contribution:by=influence,metric={self.metric}",))
