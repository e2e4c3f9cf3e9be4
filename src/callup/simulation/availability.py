"""Who is online in a round: a law of the seed and the round alone, never of who was chosen before."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from callup.core import draws
from callup.core.clients import Clients
from callup.core.errors import InputError, UsageError
from callup.core.index import Ids
from callup.core.randomness import client_uniforms
from callup.core.registry import Card, Registry
from callup.core.types import check_k
from callup.partition.pools import places
from callup.simulation.trace import Timetable, read_trace


class Availability(ABC):
    """A law of who may be chosen; its dataclass fields are its parameters. Nothing about it changes."""

    card: ClassVar[Card]

    @abstractmethod
    def available(self, clients: Clients, index: int, rng: np.random.Generator) -> Ids:
        """Ids of those online in round `index`, sorted. `clients` carries the true label counts."""


AVAILABILITIES: Registry[Availability] = Registry("availability", "callup.simulation.availability")


@AVAILABILITIES.add("always")
@dataclass(frozen=True)
class Always(Availability):
    """Everyone is online in every round."""

    def available(self, clients: Clients, index: int, rng: np.random.Generator) -> Ids:  # noqa: ARG002
        return clients.ids


@AVAILABILITIES.add("uniform", paper="Fed-CBS, Zhang et al., ICML 2023, Section 5")
@dataclass(frozen=True)
class Uniform(Availability):
    """A fixed number of clients is online, drawn afresh in every round, each set equally likely."""

    fraction: float = 0.3
    """Of all clients, rounded to whole clients, at least one."""
    count: int | None = None
    """How many; goes before the fraction."""

    def __post_init__(self) -> None:
        if not 0 < self.fraction <= 1:
            raise UsageError(f"uniform: fraction must be above 0 and at most 1, got {self.fraction}")
        if self.count is not None:
            check_k(self.count, "uniform: count")

    def available(self, clients: Clients, index: int, rng: np.random.Generator) -> Ids:  # noqa: ARG002
        if self.count is not None and self.count > len(clients):
            raise InputError(f"uniform: count is {self.count}, but the federation has {len(clients)} clients")
        many = self.count or max(1, round(self.fraction * len(clients)))
        return np.sort(draws.uniform(clients.ids, many, rng))


@AVAILABILITIES.add("per-class", paper="Fed-CBS, Zhang et al., ICML 2023, Section 5.2.2")
@dataclass(frozen=True)
class PerClass(Availability):
    """So many clients of each class are online, drawn afresh in every round; a client's class is its most frequent one.

    Either `quota`, one number for each class, e.g. quota=9/9/9/3/3; or `count` clients in all, `ratio` times as many
    for each of the first half of the classes: 60 at 3:1 over 10 classes are 9 and 3, at 5:1 they are 10 and 2. A class
    with fewer clients than its quota is online as a whole.
    """

    count: int = 60
    ratio: int = 3
    quota: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_k(self.count, "per-class: count")
        check_k(self.ratio, "per-class: ratio")
        if self.quota and (min(self.quota) < 0 or sum(self.quota) == 0):
            raise UsageError(f"per-class: quota must not be negative nor all 0, got {'/'.join(map(str, self.quota))}")

    def available(self, clients: Clients, index: int, rng: np.random.Generator) -> Ids:  # noqa: ARG002
        counts = clients.all("label_counts")
        classes = counts.shape[1]
        quota = np.array(self.quota or places(self.count, classes, self.ratio, "per-class: count"))
        if len(quota) != classes:
            raise InputError(f"per-class: quota names {len(quota)} classes, the data has {classes}")
        own = counts.argmax(axis=1)
        # Clients by class and, within a class, in random order: each class sends the first of its queue.
        order = np.lexsort((client_uniforms(rng, clients.ids), own))
        queue = own[order]
        place = np.arange(len(queue)) - np.searchsorted(queue, queue)
        return np.sort(clients.ids[order[place < quota[queue]]])


@AVAILABILITIES.add("trace")
@dataclass(frozen=True)
class Trace(Availability):
    """Who is online is read from a JSON file.

    Either {"rounds": {"1": [0, 3], "2": []}}, the ids online in each round, or {"clients": {"0": [[1, 5], [9, 9]]}},
    the rounds, first and last, in which each client is online; a client that is not named never is.
    """

    file: str
    repeat: bool = False
    """Start again after the last round of the trace."""
    timetable: Timetable = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "timetable", read_trace(self.file))

    def available(self, clients: Clients, index: int, rng: np.random.Generator) -> Ids:  # noqa: ARG002
        rounds = self.timetable.rounds
        if index > rounds and not self.repeat:
            raise InputError(f"{self.file} ends with round {rounds}; lengthen it or set repeat=true")
        ids = self.timetable.online((index - 1) % rounds + 1)
        strangers = ids[~np.isin(ids, clients.ids)]
        if len(strangers):
            raise InputError(f"{self.file}: client {strangers[0]} of round {index} is not in the federation")
        return ids
