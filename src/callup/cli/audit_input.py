"""The label counts of a federation: from a file of one's own, from a run, or made up by a partition."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from callup.cli.terminal import say
from callup.core.clients import Clients
from callup.core.randomness import stream
from callup.partition.label_file import read_labels
from callup.partition.scheme import PARTITIONS

_MOST_CLIENTS = 1000


def read_federation(path: Path) -> tuple[Clients, str | None]:
    """The clients, and the privacy mode of the run where it is one.

    A run's folder, or a file of label counts.
    """
    if path.is_dir():
        from callup.simulation.store import load_run

        run = load_run(path)
        return run.clients, str(run.settings.get("privacy", "plain"))
    return read_labels(path).clients, None


def simulated_federation(partition: str, samples: int, classes: int, seed: int) -> Clients:
    """Labels alone, equally many of each class, spread by a partition."""
    labels = np.arange(samples) % classes
    shards = PARTITIONS.make(partition).split(labels, classes, stream(seed, "partition"))
    return Clients(shards.ids, label_counts=shards.label_counts(labels, classes))


def some_of(clients: Clients, seed: int) -> Clients:
    """The clients, or of very many a random thousand: enough to see what leaks."""
    if len(clients) <= _MOST_CLIENTS:
        return clients
    say(f"of {len(clients):,} clients a random {_MOST_CLIENTS:,} are audited")
    rows = np.sort(stream(seed, "audit", "sample").choice(len(clients), _MOST_CLIENTS, replace=False))
    return Clients(clients.ids[rows], label_counts=clients.all("label_counts")[rows])
