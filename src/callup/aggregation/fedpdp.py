"""FedPdp: each local model counts by its share of all data, scaled up for those who did not take part."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from callup.aggregation.blend import blended
from callup.core.catalogue import AVERAGES
from callup.core.clients import Clients
from callup.core.selector import Average
from callup.core.types import Replies


class RescaledModel(UserWarning):
    """The weights of a literal FedPdp round are far from adding up to 1, so the model itself is scaled."""


@AVERAGES.add("fedpdp", paper="Li, Huang, Yang, Wang, Zhang, ICLR 2020; FedCM, arXiv 2012.03270, Eq. 5", cost="O(k d)")
@dataclass(repr=False)
class FedPdp(Average):
    """Average by p_k N/|S|, where p_k is a client's share of all data and S are those averaged, out of N.

    normalise: divide by the sum of these weights, which leaves the weights proportional to data size. Without it the
    formula is taken at its word: the sum is 1 only when those averaged hold as much data each as clients do on
    average, and otherwise the whole model shrinks or grows by it; below 0.5 and above 2 a RescaledModel warning says
    so. Weights that come with the selection replace p_k and are always divided by their sum, for they already make up
    for who was drawn.

    Differs from the paper: normalise is on by default. Data sizes are those of the profile, for all N clients,
    whoever is available.
    """

    normalise: bool = True

    def combine(
        self, model: np.ndarray, replies: Replies, clients: Clients, weights: np.ndarray | None = None
    ) -> np.ndarray:
        if weights is not None:
            return blended(model, replies, weights)
        mean = blended(model, replies, clients.of("num_examples", replies.ids))
        total = self.weight_sum(replies, clients)
        if self.normalise or total == 0:
            return mean
        if not 0.5 <= total <= 2:
            # The same words every round, so that Python tells it once and not once a round.
            warnings.warn(
                f"fedpdp: the weights of a round add up to {'less than 0.5' if total < 1 else 'more than 2'}, and the "
                "model is scaled by that; normalise=true keeps its scale",
                RescaledModel,
                stacklevel=2,
            )
        # Eq. 5: sum of p_k (N/|S|) w_k is the weighted mean times the sum of the weights.
        return (total * mean.astype(np.float64)).astype(np.float32)

    def weight_sum(self, replies: Replies, clients: Clients) -> float:
        """Sum over S of p_k N/|S|: how much larger than usual those averaged are; 0 when there is no data."""
        everything = clients.all("num_examples").sum()
        if not len(replies.ids) or everything == 0:
            return 0.0
        share = clients.of("num_examples", replies.ids).sum() / everything
        return float(share * len(clients) / len(replies.ids))
