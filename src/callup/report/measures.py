"""The numbers read off one run."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable

import numpy as np

from callup.analytics import fairness
from callup.simulation.run import RoundRecord, Run

LAST = 5
"""The final accuracy is the mean of this many last evaluations: a single one is too noisy to rank by."""


def evaluations(run: Run) -> list[tuple[RoundRecord, float]]:
    """Rounds in which the accuracy was measured, with it."""
    return [(r, r.accuracy) for r in run.history if r.accuracy is not None and math.isfinite(r.accuracy)]


def final_accuracy(run: Run) -> float | None:
    return mean(accuracy for _, accuracy in evaluations(run)[-LAST:])


def best_accuracy(run: Run) -> float | None:
    return max((accuracy for _, accuracy in evaluations(run)), default=None)


def reached(run: Run, target: float | None) -> RoundRecord | None:
    """The first evaluated round at or above the target; None when there is none."""
    if target is None:
        return None
    return next((record for record, accuracy in evaluations(run) if accuracy >= target), None)


def last_evaluated(run: Run) -> RoundRecord | None:
    """How far the run is known: a target not reached by then may or may not have been reached later."""
    measured = evaluations(run)
    return measured[-1][0] if measured else None


def mean_qcid(run: Run) -> float | None:
    return mean(r.qcid for r in run.history if r.qcid is not None)


def calls(run: Run) -> np.ndarray:
    """How often each client was asked, in the order of ids."""
    asked = [client for record in run.history for client in record.asked]
    return np.bincount(run.clients.index.rows(np.array(asked, np.int64)), minlength=len(run.clients))


def jain(run: Run) -> float | None:
    """1 when all clients were called equally often, 1/N when only one ever was."""
    counts = calls(run)
    return float(fairness.jain(counts)) if counts.any() else None


def simulated_seconds(run: Run) -> float | None:
    """Virtual time at the end; None when no clock was running."""
    clock = run.history[-1].clock if run.history else 0.0
    return clock if clock > 0 else None


def bytes_sent(run: Run) -> int:
    """Up and down, over all rounds."""
    return sum(r.ledger.bytes_down + r.ledger.bytes_up for r in run.history)


def run_digest(run: Run) -> str:
    """SHA-256 over the digests of all rounds, one a line: equal only when every round chose the same clients."""
    return hashlib.sha256("".join(f"{r.digest}\n" for r in run.history).encode()).hexdigest()


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of what was measured; None when nothing was."""
    known = [v for v in values if v is not None and math.isfinite(v)]
    return float(np.mean(known)) if known else None


def deviation(values: Iterable[float | None]) -> float | None:
    """The sample standard deviation over seeds; None below two."""
    known = [v for v in values if v is not None and math.isfinite(v)]
    return float(np.std(known, ddof=1)) if len(known) > 1 else None
