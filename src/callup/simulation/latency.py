"""How long clients take: the virtual clock's models of computing and sending.

A client's round lasts its local steps times its own seconds per step, plus what it receives and sends over the
network's speed. Nothing here waits: the seconds are added up, so that time to accuracy can be reported.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from callup.core.clients import Clients
from callup.core.errors import InputError, UsageError
from callup.core.index import Ids
from callup.core.randomness import client_uniforms
from callup.core.registry import Card, Registry
from callup.simulation.latency_trace import Paces, read_paces


class Latency(ABC):
    """A model of time; its dataclass fields are its parameters. Nothing about it changes after it is made."""

    card: ClassVar[Card]
    megabytes_per_second: float

    @abstractmethod
    def speeds(self, clients: Clients, rng: np.random.Generator) -> np.ndarray:
        """Seconds each client needs for one local step, in the order of `clients.ids`; drawn once a run."""

    def expected(self, seconds_per_step: np.ndarray, local_steps: np.ndarray, megabytes: np.ndarray) -> np.ndarray:
        """Seconds each of some clients usually takes for its steps and its traffic, both ways together."""
        return np.asarray(seconds_per_step * local_steps + megabytes / self.megabytes_per_second)

    def stretch(self, ids: Ids, index: int, rng: np.random.Generator) -> np.ndarray:  # noqa: ARG002
        """How many times longer than usual each takes in round `index`; 1 unless the model says otherwise."""
        return np.ones(len(ids))


LATENCIES: Registry[Latency] = Registry("latency", "callup.simulation.latency")


@LATENCIES.add("fixed")
@dataclass(frozen=True)
class Fixed(Latency):
    """Every client is equally fast, in every round: a client with twice the steps takes twice as long to compute."""

    seconds_per_step: float = 0.01
    megabytes_per_second: float = 1.0

    def __post_init__(self) -> None:
        _check(self, above_zero=("seconds_per_step", "megabytes_per_second"))

    def speeds(self, clients: Clients, rng: np.random.Generator) -> np.ndarray:  # noqa: ARG002
        return np.full(len(clients), self.seconds_per_step)


@LATENCIES.add("log-normal")
@dataclass(frozen=True)
class LogNormal(Latency):
    """Some clients are slow and stay slow, and every round has its own hiccups; both are log-normal.

    `seconds_per_step` is the median client's. With sigma 0.5 one client in six needs more than 1.65 times as long,
    one in forty more than 2.7 times. `jitter` is the same measure for one client from round to round; it stretches
    computing and sending alike, and its median is 1.
    """

    seconds_per_step: float = 0.01
    megabytes_per_second: float = 1.0
    sigma: float = 0.5
    jitter: float = 0.1

    def __post_init__(self) -> None:
        _check(self, above_zero=("seconds_per_step", "megabytes_per_second"), from_zero=("sigma", "jitter"))

    def speeds(self, clients: Clients, rng: np.random.Generator) -> np.ndarray:
        return np.asarray(self.seconds_per_step * np.exp(self.sigma * _normal(clients.ids, rng)))

    def stretch(self, ids: Ids, index: int, rng: np.random.Generator) -> np.ndarray:  # noqa: ARG002
        return np.asarray(np.exp(self.jitter * _normal(ids, rng)))


@LATENCIES.add("tiers", paper="TiFL, Chai et al., HPDC 2020")
@dataclass(frozen=True)
class Tiers(Latency):
    """Clients fall into a few tiers, each a fixed number of times slower at computing than the first.

    `slowdowns` has one number for each tier, e.g. slowdowns=1/2/4/8/16. Every client is dealt one of them, all equally
    likely, and keeps it whoever else is there, so tiers are of about the same size. `jitter` is as for log-normal.
    """

    slowdowns: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0, 16.0)
    seconds_per_step: float = 0.01
    megabytes_per_second: float = 1.0
    jitter: float = 0.0

    def __post_init__(self) -> None:
        _check(self, above_zero=("seconds_per_step", "megabytes_per_second"), from_zero=("jitter",))
        if not self.slowdowns or not all(0 < slow < math.inf for slow in self.slowdowns):
            given = "/".join(f"{slow:g}" for slow in self.slowdowns) or "none"
            raise UsageError(f"tiers: slowdowns must be one finite number above 0 for each tier, got {given}")

    def speeds(self, clients: Clients, rng: np.random.Generator) -> np.ndarray:
        tier = np.floor(client_uniforms(rng, clients.ids) * len(self.slowdowns)).astype(np.intp)
        return np.asarray(self.seconds_per_step * np.array(self.slowdowns)[tier])

    def stretch(self, ids: Ids, index: int, rng: np.random.Generator) -> np.ndarray:  # noqa: ARG002
        return np.asarray(np.exp(self.jitter * _normal(ids, rng)))


@LATENCIES.add("trace")
@dataclass(frozen=True)
class Trace(Latency):
    """How fast each client is, and how that changes from round to round, is read from a JSON file.

    {"seconds_per_step": {"0": 0.02, "1": 0.5}} gives each client's own speed; without it all need `seconds_per_step`.
    {"factors": {"0": [1, 1.5, 3], "1": [1, 1, 2]}} says how many times longer than usual a client takes in round 1, 2
    and so on, computing and sending alike. A file may hold either or both; what it holds must name every client.
    """

    file: str
    seconds_per_step: float = 0.01
    megabytes_per_second: float = 1.0
    repeat: bool = False
    """Start again after the last round of the factors."""
    paces: Paces | None = field(init=False, repr=False, compare=False)
    factors: Paces | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check(self, above_zero=("seconds_per_step", "megabytes_per_second"))
        paces, factors = read_paces(self.file)
        object.__setattr__(self, "paces", paces)
        object.__setattr__(self, "factors", factors)

    def speeds(self, clients: Clients, rng: np.random.Generator) -> np.ndarray:  # noqa: ARG002
        if self.factors is not None:
            self.factors.of(clients.ids)  # a client without factors is refused before the first round
        return np.full(len(clients), self.seconds_per_step) if self.paces is None else self.paces.of(clients.ids)

    def stretch(self, ids: Ids, index: int, rng: np.random.Generator) -> np.ndarray:  # noqa: ARG002
        if self.factors is None:
            return np.ones(len(ids))
        rounds = self.factors.values.shape[1]
        if index > rounds and not self.repeat:
            raise InputError(f"{self.file} ends with round {rounds}; lengthen it or set repeat=true")
        return np.asarray(self.factors.of(ids)[:, (index - 1) % rounds])


def _normal(ids: Ids, rng: np.random.Generator) -> np.ndarray:
    """Box and Muller's normal numbers from two uniforms of each client: its luck is its own, whoever else is there."""
    radius = np.sqrt(-2 * np.log(client_uniforms(rng, ids)))
    return np.asarray(radius * np.cos(2 * np.pi * client_uniforms(rng, ids)))


def _check(model: Latency, above_zero: tuple[str, ...], from_zero: tuple[str, ...] = ()) -> None:
    """Times and spreads that a clock can run on, refused by name otherwise."""
    for name in (*above_zero, *from_zero):
        value = getattr(model, name)
        if not math.isfinite(value) or value < 0 or (value == 0 and name in above_zero):
            least = "above 0" if name in above_zero else "at least 0"
            raise UsageError(f"{model.card.name}: {name} must be {least} and finite, got {value}")
