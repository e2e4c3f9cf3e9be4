"""How many rounds each method needs to where another one ends, under the same seed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from callup.analytics.student import Gap, paired_gap
from callup.experiments.metrics import Measured
from callup.experiments.metrics.speed import rounds_to_target
from callup.experiments.reproduce.store import Done

Runs = Mapping[int, Done]
"""By seed."""


def rounds_by_seed(runs: Runs, targets: Mapping[int, float]) -> dict[int, Measured]:
    """The first evaluated round at or above the target of its seed, in test accuracy; a bound where none was."""
    return {seed: rounds_to_target(runs[seed].series, targets[seed]) for seed in sorted(runs.keys() & targets.keys())}


def fastest(speeds: Mapping[str, Mapping[int, Measured]], names: Iterable[str]) -> str | None:
    """Of those with most seeds, the method of the fewest rounds; a run that never got there counts as endless."""
    known = [name for name in names if speeds[name]]
    most = max((len(speeds[name]) for name in known), default=0)
    full = {name: _mean(speeds[name]) for name in known if len(speeds[name]) == most}
    return min(full, key=lambda name: (full[name], name)) if full else None


def slower(one: Mapping[int, Measured], other: Mapping[int, Measured]) -> Gap | None:
    """Rounds over rounds, less 1, seed by seed: 0.1 is a tenth more. A run that never got there makes it endless."""
    shared = [seed for seed in one if seed in other and not other[seed].censored]
    ratios = {seed: _rounds(one[seed]) / _rounds(other[seed]) for seed in shared}
    if any(map(math.isinf, ratios.values())):
        return Gap(math.inf, -math.inf, math.inf, len(ratios))
    return paired_gap(ratios, dict.fromkeys(shared, 1.0))


def _mean(speeds: Mapping[int, Measured]) -> float:
    return sum(map(_rounds, speeds.values())) / len(speeds)


def _rounds(measured: Measured) -> float:
    return math.inf if measured.value is None or measured.censored else measured.value
