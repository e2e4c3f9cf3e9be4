"""Clients join and leave while the run goes on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from callup.core.clients import Clients
from callup.core.randomness import client_uniforms, stream
from callup.core.types import check_k
from callup.simulation.fault import FAULTS, Fault, check_chance


@FAULTS.add("churn")
@dataclass(frozen=True)
class Churn(Fault):
    """Every `every` rounds the federation is drawn anew: some clients stay, of the others a share belongs to it.

    With enrolled=0.5 and stay=0 half of the members leave each time and as many join. One client always stays.
    """

    enrolled: float = 0.5
    stay: float = 0.2
    every: int = 1

    def __post_init__(self) -> None:
        check_chance("churn", enrolled=self.enrolled, stay=self.stay)
        check_k(self.every, "churn: every")

    def members(self, clients: Clients, index: int, rng: np.random.Generator) -> np.ndarray:
        key = int(rng.integers(2**63))
        steady = client_uniforms(stream(key, "steady"), clients.ids)
        season = client_uniforms(stream(key, "season", (index - 1) // self.every), clients.ids)
        return np.asarray((steady < self.stay) | (season < self.enrolled) | (steady == steady.min()))
