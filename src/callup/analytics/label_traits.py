"""How clients with label statistics differ from a target: which statistics there are, what the target is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from callup.analytics import traits
from callup.core.clients import Clients
from callup.core.errors import InputError
from callup.core.index import Ids


@dataclass(frozen=True)
class LabelTraits:
    """Reads label counts where there are any, else their inner products."""

    target: Literal["uniform", "pooled"]
    prior: tuple[float, ...]
    """A target of one's own, one number for each class; empty for none."""
    presence: float
    """The share of a class, relative to the target's, at which it counts half."""
    classes: int
    """How many there are; inner products do not tell."""

    @staticmethod
    def source(clients: Clients) -> str | None:
        return next((name for name in ("label_counts", "label_gram") if name in clients), None)

    def check(self, clients: Clients, name: str) -> None:
        source = self.source(clients)
        if source == "label_gram" and not self.classes:
            raise InputError(f"{name}: label_gram alone does not tell the number of classes; set classes in the plan")
        if source == "label_gram" and self.prior:
            raise InputError(f"{name}: label_gram does not tell one class from another; leave prior out")
        if source == "label_counts" and self.prior:
            held = clients.all("label_counts").shape[1]
            if len(self.prior) != held:
                raise InputError(f"{name}: prior has {len(self.prior)} numbers for {held} classes")

    def of(self, clients: Clients, ids: Ids) -> np.ndarray:
        """One row for each client."""
        if self.source(clients) == "label_counts":
            return traits.from_counts(clients.of("label_counts", ids), self.wanted(clients), self.presence)
        every = clients.derived("traits", lambda: self._from_gram(clients))
        return np.asarray(every[clients.index.rows(ids)])

    def wanted(self, clients: Clients) -> np.ndarray:
        """The target; where label counts are known."""
        if self.prior:
            return np.array(self.prior) / sum(self.prior)
        classes = clients.all("label_counts").shape[1]
        if self.target == "uniform":
            return np.full(classes, 1 / classes)
        pooled = clients.derived("pooled labels", lambda: clients.all("label_counts").sum(axis=0))
        return np.asarray(pooled / pooled.sum() if pooled.any() else np.full(classes, 1 / classes))

    def _from_gram(self, clients: Clients) -> np.ndarray:
        gram = clients.all("label_gram")
        sizes = clients.all("num_examples") if "num_examples" in clients else np.sqrt(np.diagonal(gram))
        return traits.from_gram(gram, sizes, self.classes, self.target == "pooled")
