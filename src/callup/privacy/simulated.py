"""Noise for simulations: the same law as the real one, but from a seed, so that a run can be repeated.

Noise that can be drawn again protects nobody: whoever knows the seed takes it off. Real releases go through
`callup.privacy.ledger`, which has no seed. See docs/decisions/0004-noise-in-the-simulator.md.
"""

from __future__ import annotations

import math

import numpy as np

from callup.core.clients import Clients
from callup.core.randomness import stream
from callup.privacy.counts import whole_counts
from callup.privacy.release import AddNoise, noised


def simulated_release(clients: Clients, epsilon: float, seed: int) -> np.ndarray:
    """Every client's noised label counts; a client's noise hangs on the seed and its id alone."""
    counts = clients.all("label_counts")
    released = np.empty(counts.shape, np.int64)
    for row, client in enumerate(clients.ids.tolist()):
        released[row] = noised(whole_counts(counts[row], client), epsilon, _seeded(stream(seed, "label noise", client)))
    return released


def _seeded(rng: np.random.Generator) -> AddNoise:
    """Discrete Laplace noise as the difference of two geometric numbers."""

    def add(counts: np.ndarray, scale: float) -> np.ndarray:
        stop = -math.expm1(-1 / scale)
        return np.asarray(counts + rng.geometric(stop, len(counts)) - rng.geometric(stop, len(counts)))

    return add
