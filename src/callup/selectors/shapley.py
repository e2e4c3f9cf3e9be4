"""Shapley (SVB): call clients in proportion to the Shapley values of their past models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from callup.analytics.contribution_law import ByContribution
from callup.core.catalogue import SELECTORS
from callup.core.signals import Needs


@SELECTORS.add(
    "shapley",
    paper="SVB in FedEMD, Huang et al., 2021; GTG-Shapley, Liu et al., TIST 2022",
    needs=("contribution:by=shapley",),
    cost="O(N), and at the server 2^k models scored on validation data, or fewer when sampled",
    one_by_one=True,
)
@dataclass(repr=False)
class ShapleySelector(ByContribution):
    """Draw clients in proportion to their mean Shapley value, counted from the least.

    A reply's Shapley value is what it adds to the aggregate's quality on validation data, averaged over all orders in
    which the round's replies could have joined; positive is helpful. With phi_i a client's running mean:

        phi_i <- decay phi_i + (1 - decay) value
        weight_i = phi_i - min phi + floor (max phi - min phi)

    decay: the share of the past. floor: what the least has of the range. method: exact looks at every subset, up to 16
    replies; tmc and gtg sample orders; auto is exact for up to 8 replies and gtg above. metric: quality is minus the
    loss, or the accuracy.

    Differs from the paper: FedEMD only says that the probability is proportional to the Shapley value. The running
    mean, the shift that makes weights positive, and that whoever has not reported counts as the mean of all others,
    are ours. The worth of no reply is that of the model the round started from; the authors' code takes 0.
    """

    method: Literal["auto", "exact", "tmc", "gtg"] = "auto"
    metric: Literal["loss", "accuracy"] = "loss"

    @property
    def needs(self) -> Needs:
        return Needs.of((f"contribution:by=shapley,method={self.method},metric={self.metric}",))
