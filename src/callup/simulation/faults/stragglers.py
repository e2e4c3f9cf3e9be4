"""Clients that are slow now and then, and clients whose clocks jump."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from callup.core.errors import UsageError
from callup.core.index import Ids
from callup.core.randomness import client_uniforms
from callup.simulation.fault import FAULTS, Fault, check_chance


@FAULTS.add("stragglers")
@dataclass(frozen=True)
class Stragglers(Fault):
    """Each client asked is held up with this chance and then takes `factor` times as long."""

    chance: float = 0.1
    factor: float = 10.0

    def __post_init__(self) -> None:
        check_chance("stragglers", chance=self.chance)
        if not 1 <= self.factor < np.inf:
            raise UsageError(f"stragglers: factor must be at least 1, got {self.factor:g}")

    def stretch(self, ids: Ids, index: int, rng: np.random.Generator) -> np.ndarray:  # noqa: ARG002
        return np.where(client_uniforms(rng, ids) < self.chance, self.factor, 1.0)


@FAULTS.add("clock-jumps")
@dataclass(frozen=True)
class ClockJumps(Fault):
    """A client's clock jumps during its training with this chance, ahead or back, so the time it reports is absurd."""

    chance: float = 0.05
    seconds: float = 86400.0

    def __post_init__(self) -> None:
        check_chance("clock-jumps", chance=self.chance)
        if not 0 < self.seconds < np.inf:
            raise UsageError(f"clock-jumps: seconds must be above 0, got {self.seconds:g}")

    def told(self, seconds: np.ndarray, ids: Ids, index: int, rng: np.random.Generator) -> np.ndarray:  # noqa: ARG002
        luck = client_uniforms(rng, ids)
        jump = np.where(luck < self.chance / 2, self.seconds, -self.seconds)
        return np.where(luck < self.chance, seconds + jump, seconds)
