"""Dirichlet label skew: equal clients, each with its own random mix of classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from callup.core.errors import InputError
from callup.core.types import check_k
from callup.partition.mixes import Concentration, dirichlet_mixes
from callup.partition.pools import by_class, deal, walk
from callup.partition.scheme import PARTITIONS, Partition, check_enough, check_positive


@PARTITIONS.add("dirichlet", paper="Hsu, Qi, Brown, 2019")
@dataclass(frozen=True)
class Dirichlet(Partition):
    """Each client draws a class mix from a Dirichlet distribution, then its samples by that mix; all sizes are equal.

    A small alpha means few classes per client. concentration=total is Hsu et al.'s reading, q ~ Dir(alpha * prior):
    with B equal classes each component is alpha/B. per_component, q ~ Dir(alpha * 1), is FedCM's.

    Samples are taken without replacement. Once a class has run out, the rest of a client's draw follows its mix over
    the classes that are left; once all of its classes have, it follows what is left. Clients are served in random
    order, so this falls on nobody by name. With reuse=true nothing runs out: each class is walked round and round,
    reshuffled after each lap, and the federation as a whole need not have the balance of the data.
    """

    clients: int = 100
    alpha: float = 0.5
    concentration: Concentration = "total"
    samples: int | None = None
    """For each client; none means an equal share, and what cannot be shared equally is left out."""
    reuse: bool = False

    def __post_init__(self) -> None:
        check_k(self.clients, "dirichlet: clients")
        check_positive(self.alpha, "dirichlet: alpha")
        if self.samples is not None:
            check_k(self.samples, "dirichlet: samples")

    @property
    def shares(self) -> bool:
        return self.reuse

    def assign(self, labels: np.ndarray, classes: int, rng: np.random.Generator) -> Sequence[np.ndarray]:
        totals = np.bincount(labels, minlength=classes)
        size = self._size(labels)
        mixes = dirichlet_mixes(totals, self.clients, self.alpha, self.concentration, rng)
        pools = by_class(labels, classes, rng)
        if self.reuse:
            counts = rng.multinomial(size, mixes)
            return deal([walk(pool, counts[:, b].sum(), rng) for b, pool in enumerate(pools)], counts)
        counts = np.zeros((self.clients, classes), np.int64)
        left = totals.copy()
        for client in rng.permutation(self.clients):
            counts[client] = draw_while_they_last(mixes[client], size, left, rng)
            left -= counts[client]
        return deal(pools, counts)

    def _size(self, labels: np.ndarray) -> int:
        if self.samples is None:
            check_enough(labels, self.clients)
            return len(labels) // self.clients
        if self.samples * self.clients > len(labels) and not self.reuse:
            raise InputError(
                f"dirichlet: {self.clients:,} clients of {self.samples:,} samples need "
                f"{self.samples * self.clients:,}, there are {len(labels):,}; lower samples or set reuse=true"
            )
        return self.samples


def draw_while_they_last(mix: np.ndarray, size: int, left: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """How many samples of each class `size` draws by `mix` give, when only `left` are there.

    The same law as drawing one sample after the other and renormalising the mix when a class runs out.
    """
    counts = np.zeros_like(left)
    while (missing := size - int(counts.sum())) > 0:
        room = left - counts
        weights = np.where(room > 0, mix, 0.0)
        if weights.sum() < 1e-9:
            weights = room.astype(np.float64)
        counts += np.minimum(rng.multinomial(missing, weights / weights.sum()), room)
    return counts
