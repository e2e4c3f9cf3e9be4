"""Mean: every local model counts the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from callup.aggregation.blend import blended
from callup.core.catalogue import AVERAGES
from callup.core.clients import Clients
from callup.core.selector import Average
from callup.core.types import Replies


@AVERAGES.add("mean", paper="FedACS, Wang et al., IWQoS 2021; FedEMD's 'average'", cost="O(k d)")
@dataclass(repr=False)
class Mean(Average):
    """Average the local models as equals: (1/|S|) sum of w_k."""

    def combine(
        self,
        model: np.ndarray,
        replies: Replies,
        clients: Clients,  # noqa: ARG002
        weights: np.ndarray | None = None,
    ) -> np.ndarray:
        return blended(model, replies, np.ones(len(replies.ids)) if weights is None else weights)
