"""What a client was worth to the rounds it took part in."""

from __future__ import annotations

from collections.abc import Sequence

from callup.experiments.metrics.measured import UNKNOWN, Measured
from callup.simulation.audit import Contributions


def normalised_shapley(
    rounds: Sequence[Contributions], client: int, first: int = 1, last: int | None = None
) -> Measured:
    """The client's Shapley value, scaled within each round from 0 to 1, averaged over the rounds it was in (FedEMD).

    `rounds` comes from `callup.simulation.audit.contributions`; `first` and `last` cut out a phase of the run.
    """
    seen = [r for r in rounds if first <= r.index and (last is None or r.index <= last) and client in r.ids]
    if not seen:
        return UNKNOWN
    values = [float(r.relative[r.ids == client][0]) for r in seen]
    return Measured(sum(values) / len(values))


def average_shapley(rounds: Sequence[Contributions], first: int = 1, last: int | None = None) -> Measured:
    """The mean of the same over all participants: the line that a client's own value is held against."""
    seen = [r for r in rounds if first <= r.index and (last is None or r.index <= last) and len(r.ids)]
    values = [float(r.relative.mean()) for r in seen]
    return Measured(sum(values) / len(values)) if values else UNKNOWN
