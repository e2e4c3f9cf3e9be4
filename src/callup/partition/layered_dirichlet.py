"""Layered Dirichlet: half of the clients strongly skewed, half mildly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from callup.core.errors import UsageError
from callup.core.types import check_k
from callup.partition.pools import by_class, deal, walk
from callup.partition.scheme import PARTITIONS, Partition, check_positive

_LOWEST = 1e-5  # the paper's open end, (0, x_med]: at 0 itself there is no Dirichlet distribution


@PARTITIONS.add(
    "layered-dirichlet",
    paper="FedACS, Wang, Zhu, Wang, Han, IWQoS 2021, Definition 2",
    presets={"low": {"x_med": 0.2, "x_max": 3.0}, "high": {"x_med": 0.1, "x_max": 5.0}},
)
@dataclass(frozen=True)
class LayeredDirichlet(Partition):
    """Odd clients draw beta from (0, x_med], even ones from (x_med, x_max]; each then mixes classes by Dir(beta * 1).

    Counts are rounded down and the remainder goes to one random class. All clients hold equally many samples; each
    class is walked round and round and reshuffled after each lap, so clients share samples.

    Differs from the paper: it does not say which half is which, nor how samples are taken; both follow the authors'
    published code.
    """

    clients: int = 200
    samples: int = 2000
    x_med: float = 0.2
    x_max: float = 3.0

    def __post_init__(self) -> None:
        check_k(self.clients, "layered-dirichlet: clients")
        check_k(self.samples, "layered-dirichlet: samples")
        check_positive(self.x_med, "layered-dirichlet: x_med")
        check_positive(self.x_max, "layered-dirichlet: x_max")
        if not _LOWEST < self.x_med < self.x_max:
            raise UsageError(
                f"layered-dirichlet: x_med must lie between {_LOWEST:g} and x_max={self.x_max:g}, got {self.x_med:g}"
            )

    @property
    def shares(self) -> bool:
        return True

    def assign(self, labels: np.ndarray, classes: int, rng: np.random.Generator) -> Sequence[np.ndarray]:
        present = np.unique(labels)
        odd = np.arange(self.clients) % 2 == 1
        beta = rng.uniform(np.where(odd, _LOWEST, self.x_med), np.where(odd, self.x_med, self.x_max))
        mixes = np.stack([rng.dirichlet(np.full(len(present), b)) for b in beta])
        counts = np.zeros((self.clients, classes), np.int64)
        counts[:, present] = np.floor(self.samples * mixes)
        lucky = rng.choice(present, self.clients)
        counts[np.arange(self.clients), lucky] += self.samples - counts.sum(axis=1)
        pools = by_class(labels, classes, rng)
        return deal([walk(pool, counts[:, b].sum(), rng) for b, pool in enumerate(pools)], counts)
