"""Label mixes: the class proportions each client is meant to have, drawn from a Dirichlet distribution."""

from __future__ import annotations

from typing import Literal

import numpy as np

Concentration = Literal["total", "per_component"]


def dirichlet_mixes(
    totals: np.ndarray, clients: int, alpha: float, concentration: Concentration, rng: np.random.Generator
) -> np.ndarray:
    """One row of class proportions for each client, (clients, classes); classes without samples get none.

    total (Hsu et al.): q ~ Dir(alpha * prior), the prior being the class shares of the data, so with B equal classes
    each component is alpha/B. per_component: q ~ Dir(alpha * 1).
    """
    present = np.flatnonzero(totals)
    prior = totals[present] / totals.sum() if concentration == "total" else np.ones(len(present))
    mixes = np.zeros((clients, len(totals)))
    mixes[:, present] = rng.dirichlet(alpha * prior, clients)
    return mixes
