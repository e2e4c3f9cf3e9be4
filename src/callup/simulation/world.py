"""The federation a run takes place in: data, who holds what, who is online, how fast each one is."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from callup.core.clients import Clients
from callup.core.index import Ids
from callup.core.randomness import stream
from callup.partition.scheme import PARTITIONS
from callup.privacy.provide import provide
from callup.simulation.availability import AVAILABILITIES
from callup.simulation.backends.choose import make_backend
from callup.simulation.features import fingerprints
from callup.simulation.latency import LATENCIES
from callup.simulation.settings import Settings
from callup.simulation.task import TASKS
from callup.simulation.weather import Weather


class World:
    """All that exists whichever selector runs: one seed gives every method the same clients, data and luck."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.seed = settings, settings.seed
        task = TASKS.make(settings.task).load()
        self.local = settings.training(task.local)
        labels, self.classes = task.data.train.labels, task.data.classes
        scheme = PARTITIONS.make(settings.partition)
        shards = scheme.split(labels, self.classes, stream(self.seed, "partition"), task.data.owners)
        self.backend = make_backend(
            settings.backend, task.data, task.model, shards, self.local, self.seed, settings.workers
        )
        self.validation = task.data.validation
        self._availability = AVAILABILITIES.make(settings.availability)
        self._latency = LATENCIES.make(settings.latency)
        self.weather = Weather(settings.faults, settings.lost, self.seed)
        self.start_model = self.backend.init()
        self.megabytes = self.start_model.nbytes / 1e6
        known = Clients(shards.ids, num_examples=shards.sizes, label_counts=shards.label_counts(labels, self.classes))
        self._seconds_per_step = self._latency.speeds(known, stream(self.seed, "speeds"))
        self.clients = Clients(
            shards.ids,
            num_examples=shards.sizes,
            label_counts=known.all("label_counts"),
            latency=self._usual(shards.ids, self.steps(known, shards.ids), 2 * self.megabytes),
        )

    def profile(self, names: Iterable[str]) -> Clients:
        """The clients as a selector may see them: these columns and no others. Fingerprints are made when asked for."""
        wanted = set(names)
        columns = provide(self.settings.privacy, self.clients, wanted - {"features"}, self.seed)
        if "features" in wanted:
            shards, x = self.backend.shards, self.backend.data.train.x
            columns["features"] = fingerprints(x, shards, self.settings.fingerprint_bits, self.seed)
        return Clients(self.clients.ids, **columns)

    def available(self, index: int) -> Ids:
        """Who belongs to the federation in this round and is online."""
        online = self._availability.available(self.clients, index, stream(self.seed, "availability", index))
        return np.intersect1d(online, self.members(index), assume_unique=True) if self.settings.faults else online

    def members(self, index: int) -> Ids:
        return self.weather.members(self.clients, index)

    def silent(self, ids: Ids, index: int, occasion: str) -> np.ndarray:
        """A mask: who does not answer this time."""
        return self.weather.silent(self.clients, ids, index, occasion)

    def steps(self, clients: Clients, ids: Ids) -> np.ndarray:
        """Optimiser steps each client takes in a round."""
        largest = int(clients.all("num_examples").max())
        return np.array([self.local.steps(int(n), largest) for n in clients.of("num_examples", ids)], np.float64)

    def durations(self, ids: Ids, steps: np.ndarray, megabytes: float, index: int) -> np.ndarray:
        """Simulated seconds each client needs for so many steps and so much traffic in this round."""
        stretch = self._latency.stretch(ids, index, stream(self.seed, "latency", index))
        stretch = stretch * self.weather.stretch(ids, index)
        return np.asarray(self._usual(ids, steps, megabytes) * stretch)

    def _usual(self, ids: Ids, steps: np.ndarray, megabytes: float) -> np.ndarray:
        pace = self._seconds_per_step[np.searchsorted(self.backend.shards.ids, ids)]
        return self._latency.expected(pace, steps, np.full(len(ids), megabytes))
