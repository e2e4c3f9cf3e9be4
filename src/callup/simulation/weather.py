"""All the faults of a run together: who belongs to it, who keeps silent, who is slow, what arrives broken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from callup.core.clients import Clients
from callup.core.index import Ids
from callup.core.randomness import client_uniforms, stream
from callup.simulation.fault import FAULTS, Fault


class Weather:
    """Faults drawn from the seed, the round and the client alone; each fault and occasion has its own stream."""

    def __init__(self, faults: Iterable[str], lost: float, seed: int) -> None:
        self._faults = [FAULTS.make(spec) for spec in faults]
        self._lost, self._seed = lost, seed

    def members(self, clients: Clients, index: int) -> Ids:
        """Who belongs to the federation in this round."""
        belongs = np.ones(len(clients), bool)
        for fault, rng in self._each("members"):
            belongs &= fault.members(clients, index, rng)
        return clients.ids[belongs]

    def silent(self, clients: Clients, ids: Ids, index: int, occasion: str) -> np.ndarray:
        """A mask: who does not answer this time."""
        mute = client_uniforms(stream(self._seed, "lost", occasion, index), ids) < self._lost
        for fault, rng in self._each("silent", occasion, index):
            mute |= fault.silent(clients, ids, index, rng)
        return np.asarray(mute)

    def stretch(self, ids: Ids, index: int) -> np.ndarray:
        """How many times longer than they would these clients take."""
        total = np.ones(len(ids))
        for fault, rng in self._each("stretch", index):
            total *= fault.stretch(ids, index, rng)
        return total

    def spoil(self, models: np.ndarray, ids: Ids, index: int) -> np.ndarray:
        """The local models as they arrive."""
        for fault, rng in self._each("spoil", index):
            models = fault.spoil(models, ids, index, rng)
        return models

    def told(self, seconds: np.ndarray, ids: Ids, index: int) -> np.ndarray:
        """How long clients say they took."""
        for fault, rng in self._each("told", index):
            seconds = fault.told(seconds, ids, index, rng)
        return seconds

    def _each(self, *occasion: str | int) -> Iterator[tuple[Fault, np.random.Generator]]:
        for place, fault in enumerate(self._faults):
            yield fault, stream(self._seed, "fault", place, *occasion)
