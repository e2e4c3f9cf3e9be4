"""The numbers that published tables print, by name.

A metric takes a run (or its history, or the `Series` kept of it) and options, and returns a `Measured`. Where a number
is relative to another run, that run, or its number, is an option. `pooled` makes one number of several seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from callup.experiments.metrics import accuracy, shapley, speed
from callup.experiments.metrics.measured import Measured, pooled
from callup.experiments.metrics.series import Series, series

METRICS: Mapping[str, Callable[..., Measured]] = {
    metric.__name__: metric
    for metric in (
        accuracy.terminal_accuracy,
        accuracy.top_1_accuracy,
        accuracy.best_accuracy,
        accuracy.relative_improvement,
        accuracy.improvement,
        accuracy.source_recall,
        accuracy.expected_qcid,
        speed.rounds_to_target,
        speed.time_to_target,
        speed.rounds_to_reference,
        speed.r_at_99,
        speed.speed_up,
        speed.round_reduction,
        shapley.normalised_shapley,
        shapley.average_shapley,
    )
}

__all__ = ["METRICS", "Measured", "Series", "pooled", "series"]
