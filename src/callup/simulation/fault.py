"""What goes wrong in a federation: replies that do not come, come late or come broken, and clients that come and go."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

import numpy as np

from callup.core.clients import Clients
from callup.core.errors import UsageError
from callup.core.index import Ids
from callup.core.registry import Card, Registry


class Fault(ABC):
    """A law of what goes wrong, of the seed, the round and the client alone: every selector meets the same weather.

    Its dataclass fields are its parameters. `clients` carries the true label counts and sizes.
    """

    card: ClassVar[Card]

    def members(self, clients: Clients, index: int, rng: np.random.Generator) -> np.ndarray:  # noqa: ARG002
        """A mask over all clients: who belongs to the federation in round `index`. `rng` is the same in every round."""
        return np.ones(len(clients), bool)

    def silent(self, clients: Clients, ids: Ids, index: int, rng: np.random.Generator) -> np.ndarray:  # noqa: ARG002
        """A mask over `ids`: who does not answer this time."""
        return np.zeros(len(ids), bool)

    def stretch(self, ids: Ids, index: int, rng: np.random.Generator) -> np.ndarray:  # noqa: ARG002
        """How many times longer than it would each takes."""
        return np.ones(len(ids))

    def spoil(self, models: np.ndarray, ids: Ids, index: int, rng: np.random.Generator) -> np.ndarray:  # noqa: ARG002
        """The local models as they arrive; may be a changed copy."""
        return models

    def told(self, seconds: np.ndarray, ids: Ids, index: int, rng: np.random.Generator) -> np.ndarray:  # noqa: ARG002
        """How long each says it took, by its own clock."""
        return seconds


FAULTS: Registry[Fault] = Registry("fault", "callup.simulation.faults")


def check_chance(owner: str, **values: float) -> None:
    """Chances and shares lie from 0 to 1."""
    for name, value in values.items():
        if not 0 <= value <= 1:
            raise UsageError(f"{owner}: {name} must be from 0 to 1, got {value:g}")
