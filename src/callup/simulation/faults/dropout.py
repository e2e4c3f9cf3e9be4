"""Replies that do not come: at random, by class, or by the hour."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from callup.core.clients import Clients
from callup.core.errors import InputError, UsageError
from callup.core.index import Ids
from callup.core.randomness import client_uniforms
from callup.core.types import check_k
from callup.simulation.fault import FAULTS, Fault, check_chance


@FAULTS.add("dropout")
@dataclass(frozen=True)
class Dropout(Fault):
    """Each client asked does not reply with the same chance."""

    chance: float = 0.2

    def __post_init__(self) -> None:
        check_chance("dropout", chance=self.chance)

    def silent(self, clients: Clients, ids: Ids, index: int, rng: np.random.Generator) -> np.ndarray:  # noqa: ARG002
        return np.asarray(client_uniforms(rng, ids) < self.chance)


@FAULTS.add("dropout-by-class")
@dataclass(frozen=True)
class DropoutByClass(Fault):
    """Clients whose most frequent class is one of `classes` reply less often: what they know is what gets lost."""

    classes: tuple[int, ...] = (0,)
    chance: float = 0.6
    others: float = 0.1
    """The chance for everyone else."""

    def __post_init__(self) -> None:
        check_chance("dropout-by-class", chance=self.chance, others=self.others)

    def silent(self, clients: Clients, ids: Ids, index: int, rng: np.random.Generator) -> np.ndarray:  # noqa: ARG002
        counts = clients.of("label_counts", ids)
        unknown = [c for c in self.classes if not 0 <= c < counts.shape[1]]
        if unknown:
            raise InputError(f"dropout-by-class: there is no class {unknown[0]}; the data has {counts.shape[1]}")
        hit = np.isin(counts.argmax(axis=1), self.classes)
        return np.asarray(client_uniforms(rng, ids) < np.where(hit, self.chance, self.others))


@FAULTS.add("dropout-by-zone")
@dataclass(frozen=True)
class DropoutByZone(Fault):
    """Clients live in time zones and seldom reply by day, when their devices are in use; a day lasts `day` rounds.

    Client ids are spread over the zones in turn. In each round the zones whose local hour is within the first `busy`
    share of the day are the busy ones.
    """

    zones: int = 6
    day: int = 24
    busy: float = 0.5
    chance: float = 0.6
    others: float = 0.1

    def __post_init__(self) -> None:
        check_k(self.zones, "dropout-by-zone: zones")
        if check_k(self.day, "dropout-by-zone: day") < 2:
            raise UsageError(f"dropout-by-zone: day must be at least 2 rounds, got {self.day}")
        check_chance("dropout-by-zone", busy=self.busy, chance=self.chance, others=self.others)

    def silent(self, clients: Clients, ids: Ids, index: int, rng: np.random.Generator) -> np.ndarray:  # noqa: ARG002
        hour = ((index - 1) / self.day + (ids % self.zones) / self.zones) % 1.0
        return np.asarray(client_uniforms(rng, ids) < np.where(hour < self.busy, self.chance, self.others))
