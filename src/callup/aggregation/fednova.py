"""FedNova: updates are divided by how far each client went before they are averaged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from callup.aggregation.blend import blended
from callup.core.catalogue import AVERAGES
from callup.core.clients import Clients
from callup.core.errors import ContractError, UsageError
from callup.core.selector import Average
from callup.core.types import Replies

_LARGEST = float(np.finfo(np.float32).max)


@AVERAGES.add("fednova", paper="Wang, Liu, Liang, Joshi, Poor, NeurIPS 2020", cost="O(k d)")
@dataclass(repr=False)
class FedNova(Average):
    """Average update directions per step, then go as many steps as clients took on average.

    Plain averaging lets whoever takes more local steps pull harder. With q_i a reply's share of the samples, tau_i its
    local steps and a_i the sum of the coefficients with which its gradients entered its update:

        w <- w + tau_eff sum_i q_i (w_i - w) / a_i,   tau_eff = sum_i q_i a_i

    For plain SGD a_i = tau_i; with momentum rho a step counts (1 - rho^t)/(1 - rho). When all took as many steps this
    is the mean by size. momentum, proximal, rate: those of local training, which the replies do not tell. The learning
    rate cancels, if it is the same for all, except beside a proximal term: there it must be given, and
    tau_eff = sum_i q_i tau_i, as in the authors' code. Weights that come with the selection replace q_i; if they are
    weights of local models, those are averaged as they are, for what a client may change is settled already.

    Differs from the paper: with momentum and a proximal term together a_i follows the recursion of both, where the
    authors' code adds up two; weight decay and a rate that changes within a round are left out of a_i, as they are
    there. Server momentum is not offered. A reply that took no step has no direction. What does not fit into float32,
    when a client claims enormous numbers of steps, is cut to its largest number.
    """

    momentum: float = 0.0
    proximal: float = 0.0
    rate: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.momentum < 1:
            raise UsageError(f"fednova: momentum must be from 0 to below 1, got {self.momentum:g}")
        if not 0 <= self.proximal < np.inf:
            raise UsageError(f"fednova: proximal must not be negative and must be finite, got {self.proximal:g}")
        if self.proximal and self.rate is None:
            raise UsageError("fednova: with a proximal term the local learning rate matters; set rate")
        if self.rate is not None and not (self.rate > 0 and self.rate * self.proximal < 1):
            raise UsageError(f"fednova: rate must be above 0, and rate times proximal below 1, got {self.rate:g}")

    def combine(
        self,
        model: np.ndarray,
        replies: Replies,
        clients: Clients,  # noqa: ARG002
        weights: np.ndarray | None = None,
    ) -> np.ndarray:
        share = np.asarray(replies.num_examples if weights is None else weights, np.float64)
        if share.shape != (len(replies.ids),):
            raise ContractError(f"weights have shape {share.shape} for {len(replies.ids)} replies")
        if share.sum() == 0:
            return np.array(model, np.float32)
        share = share / share.sum()
        travelled = self.travelled(replies.local_steps)
        effective = float((share * (replies.local_steps if self.proximal else travelled)).sum())
        scale = np.divide(effective * share, travelled, out=np.zeros(len(share)), where=travelled > 0)
        out = model.astype(np.float64)
        # Row by row: one order of additions on every machine, and no float64 copy of all models.
        for factor, local in zip(scale, replies.models, strict=True):
            out += factor * np.subtract(local, replies.start, dtype=np.float64)
        return np.clip(out, -_LARGEST, _LARGEST).astype(np.float32)

    def mixed(
        self,
        model: np.ndarray,
        replies: Replies,
        clients: Clients,  # noqa: ARG002
        weights: np.ndarray,
    ) -> np.ndarray:
        return blended(model, replies, weights)

    def travelled(self, steps: np.ndarray) -> np.ndarray:
        """a_i: how far constant gradients of 1 would have taken each client, in units of the learning rate."""
        steps = np.asarray(steps, np.float64)
        if not (self.momentum or self.proximal):
            return steps
        # Of (velocity, way, 1): v <- momentum v + 1 - rate mu x, then x <- x + v.
        pull = (self.rate or 0.0) * self.proximal
        step = np.array([[self.momentum, -pull, 1], [self.momentum, 1 - pull, 1], [0, 0, 1]])
        counts, place = np.unique(np.rint(steps), return_inverse=True)
        return np.array([np.linalg.matrix_power(step, int(n))[1, 2] for n in counts])[place]
