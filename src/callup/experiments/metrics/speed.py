"""How soon the model got there: rounds, simulated time, and both against another run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from callup.core.errors import UsageError
from callup.core.types import check_k
from callup.experiments.metrics.accuracy import History, Reference, best_accuracy, terminal_accuracy, top_1_accuracy
from callup.experiments.metrics.measured import OPPOSITE, UNKNOWN, Measured, ratio
from callup.experiments.metrics.series import Series, series

Goal = Literal["best", "final", "terminal"]


def rounds_to_target(run: History, target: float, every: int = 1, window: int = 1) -> Measured:
    """The first round whose test accuracy is at or above the target; `> R` when none of the R rounds is.

    With `every` only rounds that are multiples of it count, as FedACS tests every 5 rounds. With `window` the accuracy
    is the mean of so many tests up to the round; no paper says that it smooths, so the default is not to.
    """
    known = series(run)
    return _at(known, [float(index) for index in known.index], target, every, window)


def time_to_target(run: History, target: float, every: int = 1, window: int = 1) -> Measured:
    """Simulated seconds until the round that reaches the target; unknown where no clock was running."""
    known = series(run)
    if not known.clock or known.clock[-1] <= 0:
        return UNKNOWN
    return _at(known, known.clock, target, every, window)


def rounds_to_reference(
    run: History, reference: Reference, share: float = 1.0, of: Goal = "best", every: int = 1, last: int = 50
) -> Measured:
    """Rounds to a share of what another run reached: its best accuracy (NCCB Table 2), its final one (FedCM Table 5)
    or its terminal one."""
    goal = _goal(reference, of, last)
    if goal.value is None:
        return UNKNOWN
    return rounds_to_target(run, share * goal.value, every)


def r_at_99(run: History, reference: Reference) -> Measured:
    """R@99: rounds to 99 % of the best test accuracy that random selection reached (FedEMD Table 1)."""
    return rounds_to_reference(run, reference, share=0.99, of="best")


def speed_up(run: Reference, base: Reference, target: float | None = None, every: int = 1) -> Measured:
    """Rounds of the base over rounds of this run (FedACS Table II); `< x` when this run never got there."""
    return ratio(_rounds(base, target, every), _rounds(run, target, every))


def round_reduction(run: Reference, base: Reference, target: float | None = None, every: int = 1) -> Measured:
    """The share of the base's rounds that is saved, 1 - ours / base (NCCB Table 2)."""
    share = ratio(_rounds(run, target, every), _rounds(base, target, every))
    if share.value is None:
        return UNKNOWN
    return Measured(1 - share.value, OPPOSITE[share.bound], share.n)


def _rounds(which: Reference, target: float | None, every: int) -> Measured:
    if isinstance(which, Measured):
        return which
    if isinstance(which, (int, float)):
        return Measured(float(which))
    if target is None:
        raise UsageError("rounds of a run are counted up to a target; give target")
    return rounds_to_target(which, target, every)


def _goal(reference: Reference, of: Goal, last: int) -> Measured:
    if isinstance(reference, Measured):
        return reference
    if isinstance(reference, (int, float)):
        return Measured(float(reference))
    if of == "terminal":
        return terminal_accuracy(reference, last)
    return best_accuracy(reference) if of == "best" else top_1_accuracy(reference)


def _at(known: Series, column: Sequence[float], target: float, every: int, window: int) -> Measured:
    """The column at the first test that reaches the target, or a bound: its value at the last test there was."""
    check_k(every, "every")
    tests = [row for row, index in enumerate(known.index) if index % every == 0]
    for at in range(check_k(window, "window") - 1, len(tests)):
        recent = [known.accuracy[row] for row in tests[at + 1 - window : at + 1]]
        if sum(recent) / window >= target:
            return Measured(column[tests[at]])
    return Measured(column[tests[-1]], "above") if tests else UNKNOWN
