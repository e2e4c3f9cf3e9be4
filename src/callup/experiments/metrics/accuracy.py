"""How good the model got, as the published tables count it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from callup.core.errors import UsageError
from callup.core.types import check_k
from callup.experiments.metrics.measured import UNKNOWN, Measured
from callup.experiments.metrics.series import Series, series
from callup.simulation.run import RoundRecord, Run

History = Run | Series | Sequence[RoundRecord]
Reference = History | Measured | float
"""A run to compare with, or its number where that is known already, e.g. the median over seeds."""


def terminal_accuracy(run: History, last: int = 50) -> Measured:
    """The mean test accuracy in the last 50 rounds (FedACS Table I), over those of them that were tested."""
    known = series(run)
    if check_k(last, "last") > known.rounds:
        raise UsageError(f"accuracy over the last {last} rounds was asked for, the run has {known.rounds}; lower last")
    return _mean(a for i, a in zip(known.index, known.accuracy, strict=True) if i > known.rounds - last)


def top_1_accuracy(run: History) -> Measured:
    """The accuracy of the last model that was tested (FedCM, and NCCB's next words: the first guess must be right)."""
    known = series(run).accuracy
    return Measured(known[-1]) if known else UNKNOWN


def best_accuracy(run: History) -> Measured:
    """The highest test accuracy of all (Fed-CBS Tables 2, 5 and 6)."""
    known = series(run).accuracy
    return Measured(max(known)) if known else UNKNOWN


def relative_improvement(run: Reference, base: Reference, ideal: Reference, last: int = 50) -> Measured:
    """(acc - base) / (ideal - base) of terminal accuracies: the share of non-IID harm undone (FedACS Table I)."""
    ours, low, high = (_terminal(which, last) for which in (run, base, ideal))
    if ours.value is None or low.value is None or high.value is None or high.value == low.value:
        return UNKNOWN
    return Measured((ours.value - low.value) / (high.value - low.value), n=ours.n)


def improvement(run: Reference, base: Reference, last: int = 1) -> Measured:
    """acc / base - 1 of terminal accuracies (NCCB Table 1)."""
    ours, low = _terminal(run, last), _terminal(base, last)
    if ours.value is None or not low.value:
        return UNKNOWN
    return Measured(ours.value / low.value - 1, n=ours.n)


def source_recall(run: History, classes: Iterable[int] | None = None, last: int = 1) -> Measured:
    """Mean recall over the classes that Mavericks own, over the tests in the last rounds (FedEMD).

    Without `classes`, those the run's settings call rare.
    """
    if classes is None:
        classes = run.settings.get("rare_classes", ()) if isinstance(run, Run) else ()
    wanted, known = list(classes), series(run)
    if not wanted:
        raise UsageError("source recall needs the classes of the Mavericks; give classes, or rare_classes in settings")
    rows = [row for i, row in zip(known.index, known.recall, strict=False) if i > known.rounds - last]
    if rows and not all(0 <= label < len(rows[0]) for label in wanted):
        raise UsageError(f"source recall was asked for classes {wanted}, the data has {len(rows[0])}")
    return _mean(value for row in rows for label in wanted if (value := row[label]) is not None)


def expected_qcid(run: History) -> Measured:
    """The mean class imbalance of those who took part, over all rounds (Fed-CBS); picks alone are enough for it."""
    known = series(run).qcid
    return UNKNOWN if known is None else Measured(known)


def _terminal(which: Reference, last: int) -> Measured:
    if isinstance(which, Measured):
        return which
    return Measured(float(which)) if isinstance(which, (int, float)) else terminal_accuracy(which, last)


def _mean(values: Iterable[float]) -> Measured:
    known = list(values)
    return Measured(sum(known) / len(known)) if known else UNKNOWN
