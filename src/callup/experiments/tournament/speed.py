"""How many rounds each method needs to where another one ends, under the same seed.

Two things keep chance from looking like slowness. Only every third to fifth round is evaluated, and many targets are
reached within twenty rounds: between the last evaluation below the target and the first at or above it the curve is
taken as straight. And a mean of ratios makes each of two methods of equal luck look slower than the other, since
twice as long counts 1 more and half as long 0.5 less; so ratios are averaged by their logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from callup.analytics.student import Gap, paired_gap
from callup.experiments.metrics import Measured, Series
from callup.experiments.reproduce.store import Done

Runs = Mapping[int, Done]
"""By seed."""


def rounds_by_seed(runs: Runs, targets: Mapping[int, float]) -> dict[int, Measured]:
    """Rounds to the target of each seed, in test accuracy; a bound where it was not reached."""
    return {seed: reached(runs[seed].series, targets[seed]) for seed in sorted(runs.keys() & targets.keys())}


def reached(series: Series, target: float) -> Measured:
    """Where the curve first comes up to the target; the round itself if that is the first one evaluated."""
    before: tuple[float, float] | None = None
    for index, accuracy in zip(series.index, series.accuracy, strict=True):
        if accuracy >= target:
            if before is None:
                return Measured(float(index))
            start, low = before
            return Measured(start + (index - start) * (target - low) / (accuracy - low))
        before = float(index), accuracy
    return Measured(float(series.index[-1]), "above")


def fastest(speeds: Mapping[str, Mapping[int, Measured]], names: Iterable[str]) -> str | None:
    """Of those with most seeds, the method of the fewest rounds; a run that never got there counts as endless."""
    known = [name for name in names if speeds[name]]
    most = max((len(speeds[name]) for name in known), default=0)
    full = {name: _mean(speeds[name]) for name in known if len(speeds[name]) == most}
    return min(full, key=lambda name: (full[name], name)) if full else None


def slower(one: Mapping[int, Measured], other: Mapping[int, Measured]) -> Gap | None:
    """Rounds over rounds, less 1, by the mean of their logarithms: 0.1 is a tenth more. A run that never got there
    makes it endless."""
    shared = [seed for seed in one if seed in other and not other[seed].censored]
    if any(math.isinf(_log(one[seed])) for seed in shared):
        return Gap(math.inf, -math.inf, math.inf, len(shared))
    gap = paired_gap({s: _log(one[s]) for s in shared}, {s: _log(other[s]) for s in shared})
    return gap and Gap(math.expm1(gap.mean), math.expm1(gap.low), math.expm1(gap.high), gap.pairs)


def _mean(speeds: Mapping[int, Measured]) -> float:
    return sum(map(_log, speeds.values())) / len(speeds)


def _log(measured: Measured) -> float:
    return math.inf if measured.value is None or measured.censored else math.log(measured.value)
