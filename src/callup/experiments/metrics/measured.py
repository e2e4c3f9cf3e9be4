"""A number as a table prints it: a value, or only a bound where the run ended before the value was known."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

Bound = Literal["exact", "above", "below"]
Middle = Literal["mean", "median"]
OPPOSITE: dict[Bound, Bound] = {"exact": "exact", "above": "below", "below": "above"}
NOTHING = "–"


@dataclass(frozen=True)
class Measured:
    """One measured number. `value` is None where nothing can be said."""

    value: float | None
    bound: Bound = "exact"
    """above: the truth is larger than the value, as after 200 rounds without reaching a target; below: smaller."""
    n: int = 1
    """Runs behind it."""
    std: float | None = None
    """Sample standard deviation over them; None below two runs, and where one of them gave only a bound."""

    @property
    def censored(self) -> bool:
        """Whether the value is only a bound."""
        return self.bound != "exact"

    def text(self, decimals: int = 1, scale: float = 1.0) -> str:
        """As a table shows it: `0.5`, `> 200`, `49.1 ± 0.7`; decimals that are all zero go from a bound."""
        if self.value is None:
            return NOTHING
        shown = f"{scale * self.value:.{decimals}f}"
        if self.censored:
            whole, _, rest = shown.partition(".")
            return f"{'>' if self.bound == 'above' else '<'} {whole if not rest.strip('0') else shown}"
        return shown if self.std is None else f"{shown} ± {scale * self.std:.{decimals}f}"


UNKNOWN = Measured(None, n=0)


def pooled(runs: Iterable[Measured], middle: Middle = "mean") -> Measured:
    """Repeated runs as one number; those of which nothing is known are left out, and `n` says how many were not.

    A bound in one run makes the mean a bound. The median stays exact when it is the same wherever beyond its bound the
    truth may lie. Bounds on both sides leave nothing to say.
    """
    known = [(run.value, run.bound) for run in runs if run.value is not None]
    if not known:
        return UNKNOWN
    values = np.array([value for value, _ in known])
    sides = {bound for _, bound in known} - {"exact"}
    if len(sides) > 1:
        return Measured(None, n=len(known))
    side: Bound = sides.pop() if sides else "exact"
    std = float(np.std(values, ddof=1)) if len(values) > 1 and side == "exact" else None
    if middle == "mean":
        return Measured(float(values.mean()), side, len(known), std)
    far = {"exact": 0.0, "above": math.inf, "below": -math.inf}
    moved = np.array([value if bound == "exact" else far[bound] for value, bound in known])
    half = float(np.median(values))
    return Measured(half, "exact" if np.median(moved) == half else side, len(known), std)


def ratio(over: Measured, under: Measured) -> Measured:
    """One positive number over another, with the bound that follows from theirs."""
    if over.value is None or not under.value:
        return UNKNOWN
    sides = {over.bound, OPPOSITE[under.bound]} - {"exact"}
    if len(sides) > 1:
        return UNKNOWN
    return Measured(over.value / under.value, sides.pop() if sides else "exact", min(over.n, under.n))
