"""Who is ahead, and who cannot be told from the best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from callup.report import measures
from callup.report.grouping import Method, Scenario, seed_of
from callup.report.statistics import FEWEST, paired
from callup.simulation.run import Run


@dataclass(frozen=True)
class Measure:
    """One column by which methods are compared."""

    key: str
    higher_is_better: bool
    read: Callable[[Run, Scenario], float | None]


def complete(run: Run, scenario: Scenario) -> bool:
    """False for a run that was stopped before the others ended: its final values compare with nobody's."""
    last = measures.last_evaluated(run)
    return last is not None and last.index == scenario.horizon


def rounds_to(target: float | None, run: Run, scenario: Scenario) -> float | None:
    """A complete run that never got there counts as one round more than it had: the least it can have needed."""
    hit = measures.reached(run, target)
    if hit is not None:
        return hit.index
    return scenario.horizon + 1 if target is not None and complete(run, scenario) else None


def _of_complete(read: Callable[[Run], float | None]) -> Callable[[Run, Scenario], float | None]:
    return lambda run, scenario: read(run) if complete(run, scenario) else None


FINAL = Measure("final_accuracy", True, _of_complete(measures.final_accuracy))
ROUNDS = Measure("rounds_to_target", False, lambda run, scenario: rounds_to(scenario.target, run, scenario))
QCID = Measure("mean_qcid", False, _of_complete(measures.mean_qcid))
JAIN = Measure("jain", True, _of_complete(measures.jain))
SECONDS = Measure("simulated_seconds", False, _of_complete(measures.simulated_seconds))
MEASURES = (FINAL, ROUNDS, QCID, JAIN, SECONDS)


def by_seed(scenario: Scenario, method: Method, measure: Measure) -> dict[int, float]:
    """The measure in each seed for which it is known."""
    values = {seed_of(run): measure.read(run, scenario) for run in method.runs}
    return {seed: value for seed, value in values.items() if value is not None}


def ranking(scenario: Scenario, measure: Measure) -> list[Method]:
    """Rivals from best to worst mean; those that call everyone are references and take no part."""
    rivals = [m for m in scenario.methods if not m.takes_everyone] or list(scenario.methods)
    sign = -1.0 if measure.higher_is_better else 1.0
    scores = {m.name: measures.mean(by_seed(scenario, m, measure).values()) for m in rivals}
    known = {name: score for name, score in scores.items() if score is not None}
    return sorted((m for m in rivals if m.name in known), key=lambda m: sign * known[m.name])


def as_good_as_best(scenario: Scenario, measure: Measure) -> set[str]:
    """The best and all that the paired seeds cannot tell from it; nobody when there are too few seeds to tell."""
    order = ranking(scenario, measure)
    if len(order) < 2 or len(by_seed(scenario, order[0], measure)) < FEWEST:
        return set()
    best = by_seed(scenario, order[0], measure)
    gaps = {m.name: paired(by_seed(scenario, m, measure), best) for m in order}
    return {name for name, gap in gaps.items() if gap is None or not gap.distinct}
