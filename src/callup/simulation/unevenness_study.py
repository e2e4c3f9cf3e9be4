"""How uneven a federation is and what that costs when clients are drawn at random, from label counts alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from callup.analytics import maverick
from callup.analytics.fairness import gini
from callup.analytics.maverick import Maverick
from callup.analytics.qcid import qcid, qcid_each
from callup.analytics.reach import chance_missing, rounds_until_seen
from callup.analytics.unevenness import effective_classes, effective_holders, jensen_shannon, total_variation
from callup.core.catalogue import SELECTORS
from callup.core.clients import Clients
from callup.core.errors import InputError
from callup.core.randomness import stream
from callup.core.types import Plan, Round, check_k

_GROUPS = 500
_SEARCHED = 5_000  # clients: above that the best group is looked for among a thousand


@dataclass(frozen=True)
class ClassView:
    """One class: who holds it, and how soon random draws find it."""

    label: int
    samples: int
    holders: int
    effective: float
    """As many equal clients would hold it as evenly."""
    largest: int
    """The client that holds most of it."""
    largest_share: float
    missing: float
    """The chance that a round of k random clients has none of it."""
    rounds: float
    """Until a holder is drawn for the first time, in the mean; inf for a class nobody has."""


@dataclass(frozen=True)
class Study:
    """Everything the analysis says."""

    clients: Clients
    k: int
    sizes: np.ndarray
    size_gini: float
    apart: np.ndarray
    """Each client's total variation from all together; NaN without samples."""
    divergence: np.ndarray
    """The same as Jensen-Shannon divergence, in bits."""
    effective: np.ndarray
    """Effective classes of each client."""
    random_qcid: np.ndarray
    """Of groups of k drawn at random."""
    best_qcid: float
    """Of the most even group found."""
    mavericks: Sequence[Maverick]
    classes: Sequence[ClassView]

    @property
    def counts(self) -> np.ndarray:
        return self.clients.all("label_counts")

    @property
    def empty(self) -> np.ndarray:
        """Ids of clients without samples."""
        return np.asarray(self.clients.ids[self.sizes == 0])

    @property
    def typical_apart(self) -> float:
        return float(np.nanmedian(self.apart))


def study(clients: Clients, k: int, seed: int = 0) -> Study:
    """Random groups, and the search for the best one, come from the seed; all else is exact."""
    counts, k = clients.all("label_counts"), min(check_k(k), len(clients))
    if not counts.any():
        raise InputError(f"none of the {len(clients)} clients has a sample")
    return Study(
        clients,
        k,
        counts.sum(axis=1),
        gini(counts.sum(axis=1)),
        total_variation(counts),
        jensen_shannon(counts),
        effective_classes(counts),
        _random_groups(counts, k, seed),
        _best_group(clients, k, seed),
        maverick.find(counts, clients.ids),
        _classes(clients, k),
    )


def _classes(clients: Clients, k: int) -> list[ClassView]:
    counts = clients.all("label_counts")
    totals, holders = counts.sum(axis=0), (counts > 0).sum(axis=0)
    largest, even = counts.argmax(axis=0), effective_holders(counts)
    missing, rounds = chance_missing(holders, len(clients), k), rounds_until_seen(holders, len(clients), k)
    return [
        ClassView(
            label,
            int(totals[label]),
            int(holders[label]),
            float(even[label]),
            int(clients.ids[largest[label]]),
            float(counts[largest[label], label] / max(totals[label], 1)),
            float(missing[label]),
            float(rounds[label]),
        )
        for label in range(counts.shape[1])
    ]


def _random_groups(counts: np.ndarray, k: int, seed: int) -> np.ndarray:
    rng = stream(seed, "analyze", "groups")
    pooled = [counts[rng.choice(len(counts), k, replace=False)].sum(axis=0) for _ in range(_GROUPS)]
    return qcid_each(np.array(pooled))  # NaN for a group without a sample


def _best_group(clients: Clients, k: int, seed: int) -> float:
    selector = SELECTORS.make("balanced:starts=3" if len(clients) <= _SEARCHED else "balanced:pool")
    selector.start(clients, Plan(k), stream(seed, "analyze", "start"))
    now = Round(1, clients.ids, clients, stream(seed, "analyze", "search"))
    return qcid(clients.of("label_counts", selector.select(now, k).ids))
