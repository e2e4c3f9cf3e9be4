"""Replayed update: do no work, send back what the global model did last."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from callup.core.clients import Clients
from callup.core.randomness import stream
from callup.core.types import Plan, Replies
from callup.simulation.adversaries.base import ADVERSARIES, Adversary, saying


@ADVERSARIES.add("replayed-update", paper="Lin, Du, Liu, arXiv 1911.12560, on free-riders")
@dataclass(repr=False)
class ReplayedUpdate(Adversary):
    """Update and gradient are the last change of the global model: near the mean of all, which FedACS rewards.

    `noise` is added, as a share of the length, to hide the copy.
    """

    noise: float = 0.0

    def start(self, clients: Clients, plan: Plan, rng: np.random.Generator) -> None:
        super().start(clients, plan, rng)
        self.last_ = np.empty(0)

    def reply(self, index: int, replies: Replies) -> Replies:
        lying = np.flatnonzero(self.lies(replies.ids))
        change = replies.start - self.last_ if len(self.last_) else np.zeros(len(replies.start))
        size = float(np.linalg.norm(change))
        if not len(lying) or size == 0:
            return replies
        models = np.array(replies.models)
        copies = [self._noisy(change, index, int(client)) for client in replies.ids[lying]]
        models[lying] = replies.start + np.array(copies)
        sent = replace(replies, models=models)
        if "gradient" not in replies.signals:
            return sent
        gradients = np.array(replies.signals["gradient"])
        # A gradient points the other way; liars keep the length of their own.
        own = np.linalg.norm(gradients[lying], axis=1)
        if gradients.shape[1] == len(change):
            gradients[lying] = [-copy * (length / size) for copy, length in zip(copies, own, strict=True)]
        return saying(sent, gradient=gradients)

    def _noisy(self, change: np.ndarray, index: int, client: int) -> np.ndarray:
        if not self.noise:
            return change
        extra = stream(self.key_, "noise", index, client).normal(size=len(change))
        return np.asarray(change + extra * (self.noise * np.linalg.norm(change) / np.linalg.norm(extra)))

    def learn(self, index: int, replies: Replies) -> None:  # noqa: ARG002
        self.last_ = np.array(replies.start, np.float64)
