"""What part of a whole run is each client's, if every class is to be learned from all who have it, and who had more."""

from __future__ import annotations

import numpy as np

from callup.analytics.class_form import owners_among
from callup.analytics.traits import spared_shares, spared_sums
from callup.core.clients import Clients
from callup.core.index import Ids
from callup.core.per_client import PerClient

_LEAST = 0.1  # of an equal part: what a client without samples is given, for it is divided by


def voices(counts: np.ndarray) -> np.ndarray:
    """The sum over clients of their shares of each class."""
    return spared_sums(counts)[0]


def fair_shares(counts: np.ndarray, target: np.ndarray, voices: np.ndarray, clients: int) -> np.ndarray:
    """Each class's part of the target, divided among those who have it, by their shares of it; 1 over all clients.

    The only owner of a class has all of that class's part; among clients that are alike everybody has an equal one.
    """
    wanted = np.where(voices > 0, target, 0.0)
    worth = np.divide(wanted, voices * max(wanted.sum(), 1e-300), out=np.zeros(len(voices)), where=voices > 0)
    return np.asarray(np.maximum(spared_shares(counts) @ worth, _LEAST / clients))


def excess(counts: np.ndarray, parts: np.ndarray, fair: np.ndarray, everyone: float, owners: np.ndarray) -> np.ndarray:
    """How many times more than its fair part of the run each client had, as far as others could have had it.

    parts: what these clients had of the run; everyone: what all clients had together. owners: how many clients each
    class is spread over; the part of a class of one owner, or of less, cannot be anybody else's.
    """
    others = 1 - spared_shares(counts) @ np.minimum(1, 1 / owners)
    return np.asarray(others * np.maximum(parts / fair - everyone, 0))


def overuse(clients: Clients, ids: Ids, target: np.ndarray, had: PerClient, few: float) -> np.ndarray:
    """The excess of these clients, by label counts and by what each had of the run.

    few: a class spread over so many clients is taken for one of a single owner, and others for spread so much less.
    """
    counts = clients.of("label_counts", ids)
    heard = clients.derived("voices", lambda: voices(clients.all("label_counts")))
    fair = fair_shares(counts, target, heard, len(clients))
    return excess(counts, had.get(ids), fair, float(had.values.sum()), owners_among(clients) / few)
