"""The numbers of one run, all read off its curve."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from callup.core.errors import InputError
from callup.experiments.metrics import Series
from callup.experiments.reproduce.store import Done

LAST = 0.2
"""The end of a run: its last fifth."""


def final_accuracy(series: Series, on: Literal["test", "validation"] = "test") -> float:
    """The mean over the evaluations in the last fifth of the rounds."""
    column = series.accuracy if on == "test" else series.validation
    known = [value for index, value in zip(series.index, column, strict=False) if _late(series, index)]
    if not known:
        raise InputError(f"a stored run has no accuracy on {on} data in its last fifth; delete its line and run again")
    return math.fsum(known) / len(known)


def final_recall(series: Series) -> float | None:
    """The mean recall on the classes that Mavericks own, over the same evaluations; None where none was kept."""
    rows = [row for index, row in zip(series.index, series.recall, strict=False) if _late(series, index)]
    known = [value for row in rows for value in row if value is not None]
    return math.fsum(known) / len(known) if known else None


def recalls_by_seed(runs: Mapping[int, Done]) -> dict[int, float]:
    """Of the runs that kept it."""
    found = {seed: final_recall(run.series) for seed, run in runs.items()}
    return {seed: recall for seed, recall in found.items() if recall is not None}


def _late(series: Series, index: int) -> bool:
    return index > (1 - LAST) * series.rounds
