"""What a selection says of itself: plain numbers that reports and journals can hold."""

from __future__ import annotations

import numbers

import numpy as np

from callup.core.types import Selection
from callup.testing.checks.base import SMALL, N, selector_checks
from callup.testing.driver import Make, drivers
from callup.testing.registry import require


@selector_checks.add
def gives_plain_scores_and_notes(make: Make) -> None:
    """Scores and notes are plain finite numbers.

    A score may be infinite while the client has never reported. It may be NaN where a probe went unanswered.
    """
    for mood in ("usual", "ties", "zeros", "one class", "one label", "huge"):
        for driver in drivers(make, SMALL.like(mood), k=N):
            for selection in driver.start().play(range(1, 4)):
                _check_scores(selection, f"when values are {mood}", finite=False)
                _check_notes(selection)
            driver.k = 4  # everyone has now reported
            _check_scores(driver.select(4), f"of clients that have reported, when values are {mood}", finite=True)


def _check_scores(selection: Selection, when: str, *, finite: bool) -> None:
    for name, score in selection.scores.items():
        values = np.asarray(score)
        require(values.dtype.kind in "biuf", f"score '{name}' holds {values.dtype}, not numbers")
        bad = values[~np.isfinite(values) if finite else np.isnan(values)]
        require(not len(bad), f"score '{name}' is {bad[:1]} {when}")


def _check_notes(selection: Selection) -> None:
    for name, note in selection.notes.items():
        value: object = note
        plain = isinstance(value, numbers.Real) and not isinstance(value, bool)
        require(plain and bool(np.isfinite(note)), f"note '{name}' is {note!r}, not a plain finite number")
