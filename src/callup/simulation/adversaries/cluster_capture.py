"""Cluster capture: be so unlike everybody that each liar is a cluster of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from callup.core.clients import Clients
from callup.core.index import Ids
from callup.core.randomness import stream
from callup.core.types import Replies
from callup.simulation.adversaries.base import ADVERSARIES, Adversary, claiming, saying


@ADVERSARIES.add("cluster-capture")
@dataclass(repr=False)
class ClusterCapture(Adversary):
    """Features, label counts, gradients and updates `times` the usual length, each liar in a direction of its own."""

    times: float = 10.0

    def claim(self, clients: Clients) -> Clients:
        lying, columns = np.flatnonzero(self.lies(clients.ids)), {}
        if "features" in clients:
            features = np.array(clients.all("features"))
            features[lying] = self._outliers(features, clients.ids[lying])
            columns["features"] = features
        if "label_counts" in clients:
            counts = np.array(clients.all("label_counts"))
            usual = float(np.median(counts.sum(axis=1)))
            counts[lying] = 0
            for place, row in enumerate(lying):
                counts[row, place % counts.shape[1]] = np.ceil(self.times * max(usual, 1.0) * (1 + place))
            columns["label_counts"] = counts
        return claiming(clients, columns) if columns else clients

    def answer(self, index: int, name: str, ids: Ids, values: np.ndarray) -> np.ndarray:  # noqa: ARG002
        if name != "gradient":
            return values
        values, lying = np.array(values), self.lies(ids)
        values[lying] = self._outliers(values, ids[lying])
        return values

    def reply(self, index: int, replies: Replies) -> Replies:  # noqa: ARG002
        lying = self.lies(replies.ids)
        if not lying.any():
            return replies
        models = np.array(replies.models)
        models[lying] = replies.start + self._outliers(replies.updates, replies.ids[lying])
        sent = replace(replies, models=models)
        if "gradient" not in replies.signals:
            return sent
        gradients = np.array(replies.signals["gradient"])
        gradients[lying] = self._outliers(gradients, replies.ids[lying])
        return saying(sent, gradient=gradients)

    def _outliers(self, rows: np.ndarray, ids: Ids) -> np.ndarray:
        """A random direction for each client, the same whenever it is asked, much longer than a usual row."""
        width = rows.shape[1]
        usual = float(np.median(np.linalg.norm(np.nan_to_num(rows), axis=1))) or 1.0
        out = np.empty((len(ids), width))
        for place, client in enumerate(ids.tolist()):
            direction = stream(self.key_, "direction", client, width).normal(size=width)
            out[place] = direction * (self.times * usual / np.linalg.norm(direction))
        return out
