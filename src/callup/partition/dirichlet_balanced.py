"""Dirichlet label skew on a balanced whole: client sizes bend so that every sample is used exactly once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from callup.core.errors import UsageError
from callup.core.types import check_k
from callup.partition.min_norm import min_norm_sizes
from callup.partition.mixes import Concentration, dirichlet_mixes
from callup.partition.pools import by_class, deal, nobody_empty
from callup.partition.scheme import PARTITIONS, Partition, check_enough, check_positive

_DRAWS = 100


@PARTITIONS.add("dirichlet-balanced", paper="Tang et al., FedCor, CVPR 2022; fits Fed-CBS, Zhang et al., ICML 2023")
@dataclass(frozen=True)
class DirichletBalanced(Partition):
    """Class mixes as in dirichlet; sizes as even as they can be while the mixes add up to the whole data set.

    Sizes x solve min ||x||^2 subject to sum_i x_i q_i = class totals and x >= 0. Counts are rounded down and the
    leftover samples go to random clients. A client left with nothing gets one sample of the largest client.

    Differs from the paper: Fed-CBS only says "class-balanced global dataset"; this construction is inferred from its
    published QCID values. Where a draw of mixes allows no solution, which happens with few clients, all mixes are
    drawn again, up to 100 times.
    """

    clients: int = 200
    alpha: float = 0.1
    concentration: Concentration = "total"

    def __post_init__(self) -> None:
        check_k(self.clients, "dirichlet-balanced: clients")
        check_positive(self.alpha, "dirichlet-balanced: alpha")

    def assign(self, labels: np.ndarray, classes: int, rng: np.random.Generator) -> Sequence[np.ndarray]:
        check_enough(labels, self.clients)
        totals = np.bincount(labels, minlength=classes)
        mixes, sizes = self._mixes_and_sizes(totals, rng)
        counts = np.floor(sizes[:, None] * mixes).astype(np.int64)
        for label, leftover in enumerate(totals - counts.sum(axis=0)):
            counts[:, label] += np.bincount(rng.integers(self.clients, size=leftover), minlength=self.clients)
        return deal(by_class(labels, classes, rng), nobody_empty(counts))

    def _mixes_and_sizes(self, totals: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        present = np.flatnonzero(totals)
        for _ in range(_DRAWS):
            mixes = dirichlet_mixes(totals, self.clients, self.alpha, self.concentration, rng)
            sizes = min_norm_sizes(mixes[:, present], totals[present])
            if sizes is not None:
                return mixes, sizes
        raise UsageError(
            f"dirichlet-balanced: in {_DRAWS} draws no sizes of {self.clients} clients at alpha={self.alpha:g} gave "
            f"the totals of {len(present)} classes; use more clients or a larger alpha"
        )
