"""Methods side by side under one measure: who is better, by how much, how sure, in how many seeds."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from callup.core.errors import InputError, UsageError, suggest
from callup.report import measures
from callup.report.contest import FINAL, JAIN, QCID, ROUNDS, SECONDS, Measure, by_seed, rounds_to
from callup.report.grouping import Method, Scenario
from callup.report.statistics import Interval, paired

BEST = Measure("best_accuracy", True, lambda run, scenario: measures.best_accuracy(run))  # noqa: ARG005
_DIGITS = {"mean_qcid": 4, "jain": 3}
METRICS = {"accuracy": FINAL, "best": BEST, "rounds": ROUNDS, "seconds": SECONDS, "qcid": QCID, "jain": JAIN}


@dataclass(frozen=True)
class Comparison:
    """One method against another in one scenario."""

    scenario: str
    method: str
    against: str
    metric: Measure
    mean: float
    other: float
    difference: Interval
    won: int
    """Of the seeds both have; ties are nobody's."""

    @property
    def seeds(self) -> int:
        return self.difference.seeds

    @property
    def loss(self) -> float:
        """How much worse the method is, as a part of the other's value; below 0 it is better."""
        gap = self.other - self.mean if self.metric.higher_is_better else self.mean - self.other
        return gap / abs(self.other) if self.other else (0.0 if gap == 0 else float("inf") * gap)

    @property
    def verdict(self) -> str:
        if not self.difference.distinct:
            return "unclear"
        return "better" if (self.difference.mean > 0) == self.metric.higher_is_better else "worse"


def shown(metric: Measure, value: float) -> str:
    """Accuracies in percent, or points where they are differences; all else with as many digits as it needs."""
    times, digits = (100, 1) if metric.higher_is_better and metric is not JAIN else (1, _DIGITS.get(metric.key, 1))
    return f"{times * value:.{digits}f}"


def metric_named(name: str) -> Measure:
    """`accuracy`, or `rounds@0.8` for the rounds up to an accuracy of one's own."""
    base, at, value = name.partition("@")
    if base not in METRICS:
        raise UsageError(f"there is no metric '{base}'{suggest(base, METRICS)}")
    if not at:
        return METRICS[base]
    try:
        target = float(value)
    except ValueError:
        target = -1.0
    if base != "rounds" or not 0 < target <= 1:
        raise UsageError(f"cannot read the metric '{name}'; an accuracy goes with rounds, as in rounds@0.8")
    return Measure(name, False, partial(rounds_to, target))


def compare(scenario: Scenario, method: str, against: str, metric: Measure) -> Comparison:
    """Over the seeds that both have; refused where they have none, or where the measure is not known."""
    one, other = (by_seed(scenario, _method(scenario, name), metric) for name in (method, against))
    shared = one.keys() & other.keys()
    difference = paired(one, other)
    if difference is None:
        why = "share no seed" if one and other else f"have no {metric.key} to compare"
        raise InputError(f"in '{scenario.title}' {method} and {against} {why}")
    sign = 1 if metric.higher_is_better else -1
    return Comparison(
        scenario.title,
        method,
        against,
        metric,
        sum(one[seed] for seed in shared) / len(shared),
        sum(other[seed] for seed in shared) / len(shared),
        difference,
        sum(sign * (one[seed] - other[seed]) > 0 for seed in shared),
    )


def names(found: Sequence[Scenario]) -> list[str]:
    """Every method of any of the scenarios."""
    return list(dict.fromkeys(method.name for scenario in found for method in scenario.methods))


def failing(rule: str) -> Callable[[Comparison], bool]:
    """`worse`: surely worse; `worse>5%`: in the mean worse by more than this part of the other's value."""
    given = re.fullmatch(r"\s*worse\s*(?:>\s*(\d+(?:\.\d+)?)\s*%)?\s*", rule)
    if not given:
        raise UsageError(f"cannot read --fail-if '{rule}'; write worse, or worse>5%")
    if given[1] is None:
        return lambda one: one.verdict == "worse"
    most = float(given[1]) / 100
    return lambda one: one.loss > most


def _method(scenario: Scenario, name: str) -> Method:
    known = {method.name: method for method in scenario.methods}
    if name not in known:
        raise InputError(f"'{scenario.title}' has no runs of '{name}'{suggest(name, known)}")
    return known[name]
