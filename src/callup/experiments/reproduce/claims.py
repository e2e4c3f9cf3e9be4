"""What a paper says of a picture, held against our runs."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from callup.experiments.reproduce.measuring import Bench
from callup.experiments.reproduce.tables import Claim
from callup.experiments.reproduce.verdict import Verdict


def judged_claims(bench: Bench) -> Iterator[tuple[Claim, str, int, Verdict, str]]:
    """Each claim with our two numbers, the seeds behind them, the verdict and the size of the run."""
    for claim in bench.table.claims:
        measure = bench.measure(claim.measure)
        environment = bench.environment(claim.environment)
        ahead, behind = (bench.way(name, environment) for name in (claim.ahead, claim.behind))
        cut = bench.cut(measure, environment, ahead)
        reason = bench.absent(measure, environment, ahead)
        first, second = (bench.each(measure, environment, way) for way in (ahead, behind))
        both = sorted(first.keys() & second.keys())
        pairs = [(first[s], second[s]) for s in both]
        known = [(a.value, b.value) for a, b in pairs if a.value is not None and b.value is not None]
        shown = f"{bench.pooled(measure, first).text(2)} against {bench.pooled(measure, second).text(2)}"
        yield claim, shown, len(known), _verdict(known, measure.better == "higher", cut, reason), cut or "full"


def _verdict(known: list[tuple[float, float]], higher: bool, cut: str, reason: str) -> Verdict:
    """A claim is about direction alone, so a full run that agrees reproduces it."""
    if not known:
        return Verdict("not attempted", reason or "not run yet")
    gaps = np.array([a - b if higher else b - a for a, b in known])
    error = float(gaps.std(ddof=1)) / math.sqrt(len(gaps)) if len(gaps) > 1 else 0.0
    few = "one seed" if len(gaps) == 1 else ""
    if gaps.mean() <= 0:
        return Verdict("not reproduced", "; ".join(filter(None, ("the other way round", few))))
    if gaps.mean() < error:
        return Verdict("not reproduced", "within our noise")
    return Verdict("direction only" if cut else "reproduced", few)
