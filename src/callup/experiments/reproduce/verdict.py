"""The verdict on a row, by one rule.

A row is judged in this order; the first that applies is the verdict.

1. contradicts itself: the printed value cannot come from the settings the paper states (a bound is computed), or the
   paper prints another value, or says otherwise, for the same thing.
2. not attempted: nothing was run, with the reason; or the run says nothing, as when neither method reached the target.
3. At the paper's own size: reproduced when |ours - published| <= spread + 2 e, else not reproduced; the words then say
   how the row stands to the baseline.
   The spread is the published standard deviation; 5 % of the value where none is printed; at least 1 % of the value and
   half a unit of the last digit. e is the standard error of our mean, counted up to half the spread, so that noise of
   our own can never make a row. A row printed as "> H" is reproduced when ours is beyond H too.
4. In a scaled run: direction only when the row stands to the baseline as published, else not reproduced. Never
   reproduced. The baseline itself has nothing to stand to: not attempted.

A row stands to the baseline as published when the difference of the two, taken seed by seed, has the published sign and
is at least one standard error from zero. Where the published difference is within the published spread the paper claims
none, and ours must not be two standard errors or more the other way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from callup.experiments.metrics import Measured
from callup.experiments.reproduce.published import Published

Word = Literal["reproduced", "direction only", "not reproduced", "contradicts itself", "not attempted"]


@dataclass(frozen=True)
class Verdict:
    word: Word
    why: str = ""


@dataclass(frozen=True)
class Pair:
    """The printed row beside its baseline, and what we measured for both, seed by seed."""

    row: Published
    baseline: Published
    ours: Sequence[Measured]
    ours_baseline: Sequence[Measured]


def spread(row: Published) -> float:
    """How far from the printed value a reproduction may be."""
    usual = row.std if row.std is not None else 0.05 * abs(row.value)
    return max(usual, 0.01 * abs(row.value), 0.5 * 10.0**-row.digits)


def at_full_size(row: Published, ours: Measured, pair: Pair | None) -> Verdict:
    """Rule 3."""
    if ours.value is None:
        return Verdict("not attempted", "the run says nothing about it")
    if row.censored or ours.censored:
        near = row.censored and ours.value >= row.value and ours.bound != "below"
    else:
        limit = spread(row)
        error = (ours.std or 0.0) / math.sqrt(max(ours.n, 1))
        near = abs(ours.value - row.value) <= limit + 2 * min(error, limit / 2)
    if near:
        return Verdict("reproduced")
    return Verdict("not reproduced", "" if pair is None else direction(pair).why)


def scaled(pair: Pair | None) -> Verdict:
    """Rule 4."""
    if pair is None:
        return Verdict("not attempted", "a scaled run has no value of its own: the other rows are measured against it")
    return direction(pair)


def direction(pair: Pair) -> Verdict:
    """Whether the row stands to the baseline as published; the words carry both ratios."""
    both = list(zip(pair.ours, pair.ours_baseline, strict=True))
    known = [(a, b) for a, b in both if a.value is not None and b.value is not None]
    clear = [(a, b) for a, b in known if not (a.censored and b.censored)]
    if not clear:
        return Verdict("not attempted", "neither this method nor the baseline got there" if known else "no paired runs")
    gaps = np.array([(a.value or 0.0) - (b.value or 0.0) for a, b in clear])
    mean = float(gaps.mean())
    error = float(gaps.std(ddof=1)) / math.sqrt(len(gaps)) if len(gaps) > 1 else 0.0
    claimed = pair.row.value - pair.baseline.value
    words = _ratios(pair, clear) + ("; one seed" if len(gaps) == 1 else "")
    noise = max(pair.row.std or 0.0, pair.baseline.std or 0.0)
    if abs(claimed) <= noise or claimed == 0:
        against = -math.copysign(1.0, claimed) * mean if claimed else abs(mean)
        if against >= 2 * error and against > 0 and error > 0:
            return Verdict("not reproduced", f"the paper claims no difference; {words}")
        return Verdict("direction only", f"no clear difference, as published; {words}")
    if math.copysign(1.0, mean) != math.copysign(1.0, claimed) or mean == 0:
        return Verdict("not reproduced", f"the other way round; {words}")
    if abs(mean) < error:
        return Verdict("not reproduced", f"within our noise; {words}")
    return Verdict("direction only", words)


def _ratios(pair: Pair, clear: Sequence[tuple[Measured, Measured]]) -> str:
    ours = float(np.mean([a.value or 0.0 for a, _ in clear]))
    base = float(np.mean([b.value or 0.0 for _, b in clear]))
    if base <= 0 or pair.baseline.value <= 0:
        claimed = pair.row.value - pair.baseline.value
        return f"difference to {pair.baseline.method} {ours - base:+.3g}, published {claimed:+.3g}"
    return f"{ours / base:.2f} of {pair.baseline.method}, published {pair.row.value / pair.baseline.value:.2f}"
