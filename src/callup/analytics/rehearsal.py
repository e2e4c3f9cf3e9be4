"""A rehearsal of FedEMD: the draws without the training, to see how often unusual clients would be called.

"The server can apply a preliminary client selection simulation before training based on the self-reported data size
array" (Huang et al., 2021): everybody is online and nobody has to answer, so it costs the server alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from callup.core.randomness import stream

_STEP, _STEPS, _HALVINGS = 4.0, 6, 12


@dataclass(frozen=True)
class Rehearsal:
    """Rounds of Eq. 14 and Eq. 17 over clients that hold samples, played several times from fixed seeds."""

    counts: np.ndarray
    """(N, B)"""
    far: np.ndarray
    """Distances from the global distribution."""
    near: Callable[[np.ndarray], np.ndarray]
    """From counts seen so far to each client's distance from them."""
    k: int
    rounds: int
    seeds: tuple[int, ...]

    def trajectory(self, beta: float, watched: np.ndarray) -> np.ndarray:
        """The mean chance of the watched clients (rows) in a single draw of each round, averaged over the runs."""
        return np.asarray(np.mean([self._run(beta, watched, seed) for seed in self.seeds], axis=0))

    def _run(self, beta: float, watched: np.ndarray, seed: int) -> np.ndarray:
        rng = stream(seed, "rehearsal")
        seen, k = np.zeros(self.counts.shape[1]), min(self.k, len(self.counts))
        chances = np.empty(self.rounds)
        for t in range(1, self.rounds + 1):
            exponents = self.far - t * beta * self.near(seen) if seen.any() else self.far
            weights = np.exp(exponents - exponents.max())
            chances[t - 1] = weights[watched].mean() / weights.sum()
            # Gumbel keys: the k largest are k weighted draws without replacement.
            keys = exponents + rng.gumbel(size=len(exponents))
            seen += self.counts[np.argpartition(keys, -k)[-k:]].sum(axis=0)
        return chances


def fit(mean_at: Callable[[float], float], aim: float, tolerance: float, guess: float) -> tuple[float, float]:
    """A beta above 0 at which the mean comes within `tolerance` of `aim`, and that mean; the nearest if there is none.

    Steps away from the guess by factors of four until the mean has crossed the aim, then halves the gap. The mean
    usually falls as beta grows, so that way is tried first, but nothing rests on it.
    """
    tried: dict[float, float] = {}

    def off(beta: float) -> float:
        if beta not in tried:
            tried[beta] = mean_at(beta)
        return tried[beta] - aim

    def nearest() -> tuple[float, float]:
        return min(tried.items(), key=lambda item: abs(item[1] - aim))

    def done() -> bool:
        return abs(nearest()[1] - aim) <= tolerance

    above = off(guess) > 0
    for step in (_STEP, 1 / _STEP) if above else (1 / _STEP, _STEP):
        here = guess
        for _ in range(_STEPS):
            if done():
                return nearest()
            last, here = here, here * step
            if (off(here) > 0) == above:
                continue
            for _ in range(_HALVINGS):
                if done():
                    return nearest()
                middle = float(np.sqrt(last * here))
                last, here = (middle, here) if (off(middle) > 0) == above else (last, middle)
            return nearest()
    return nearest()
