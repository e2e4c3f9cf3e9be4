"""Stale FedAvg: whoever did not train votes for the model as it was."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from callup.aggregation.blend import blended
from callup.core.catalogue import AVERAGES
from callup.core.clients import Clients
from callup.core.selector import Average
from callup.core.types import Replies


@AVERAGES.add(
    "fedavg-stale", paper="McMahan et al., AISTATS 2017, as written in FedCM, arXiv 2012.03270, Eq. 3", cost="O(k d)"
)
@dataclass(repr=False)
class FedAvgStale(Average):
    """Sum p_k w_k over those averaged and p_k w_t over everyone else, where p_k is a client's share of all data.

    The model moves towards the size-weighted mean of the replies by their share of all data: a small step when few of
    many clients take part. Weights that come with the selection say how that step is split among the replies; its
    length stays their share of all data.

    Differs from the paper: clients whose reply was lost or filtered out count among everyone else.
    """

    def combine(
        self, model: np.ndarray, replies: Replies, clients: Clients, weights: np.ndarray | None = None
    ) -> np.ndarray:
        sizes, everything = clients.of("num_examples", replies.ids), clients.all("num_examples").sum()
        share = sizes.sum() / everything if everything else 0.0
        mean = blended(model, replies, sizes if weights is None else weights)
        # Eq. 3: the shares of all clients add up to 1, so what S does not hold stays with w_t.
        return ((1 - share) * model.astype(np.float64) + share * mean).astype(np.float32)
