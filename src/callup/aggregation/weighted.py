"""Weighted: a local model counts as much as the samples it was trained on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from callup.aggregation.blend import blended
from callup.core.catalogue import AVERAGES
from callup.core.clients import Clients
from callup.core.selector import Average
from callup.core.types import Replies


@AVERAGES.add("weighted", paper="McMahan et al., AISTATS 2017", cost="O(k d)")
@dataclass(repr=False)
class Weighted(Average):
    """Average the local models by data size: sum of n_k w_k over sum of n_k, both over the replies."""

    def combine(
        self,
        model: np.ndarray,
        replies: Replies,
        clients: Clients,  # noqa: ARG002
        weights: np.ndarray | None = None,
    ) -> np.ndarray:
        return blended(model, replies, replies.num_examples if weights is None else weights)
