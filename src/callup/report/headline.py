"""The first sentence of the page: who was ahead, by how much, and whether that is more than noise."""

from __future__ import annotations

from dataclasses import dataclass

from callup.report import contest, measures
from callup.report.contest import FINAL, ROUNDS, Measure, by_seed
from callup.report.grouping import Method, Scenario
from callup.report.statistics import FEWEST, Interval, paired
from callup.report.wording import THIN, number, percent, plural, short_percent


@dataclass(frozen=True)
class Headline:
    """One sentence to remember and one to judge it by."""

    lead: str
    detail: str


def headline(scenario: Scenario) -> Headline:
    """Every number in it is computed from the runs."""
    rounds = plural(scenario.horizon, "round")
    ahead = [m for m in contest.ranking(scenario, ROUNDS) if _hits(scenario, m)]
    if ahead:
        return _race(scenario, ahead[0], ROUNDS)
    order = contest.ranking(scenario, FINAL)
    if not order:
        return Headline("Nothing was measured yet.", "No round of these runs was evaluated on the test set.")
    found = _race(scenario, order[0], FINAL)
    if scenario.target is None:
        return found
    return Headline(f"Nobody reached {short_percent(scenario.target)} accuracy in {rounds}. {found.lead}", found.detail)


def _race(scenario: Scenario, leader: Method, measure: Measure) -> Headline:
    rival = _rival(scenario, leader, measure)
    first = _result(scenario, leader, measure)
    if rival is None:
        return Headline(f"{leader.name} {first}.", f"{_seeds(leader)}, and no other method to compare with.")
    theirs = _result(scenario, rival, measure, brief=True)
    if leader.is_baseline:
        lead = f"No method was ahead of random, which {first}; next came {rival.name}, {theirs}"
    else:
        lead = f"{leader.name} {first}, {rival.name} {theirs}"
    mine, other = by_seed(scenario, leader, measure), by_seed(scenario, rival, measure)
    gap = paired(mine, other) if measure.higher_is_better else paired(other, mine)
    told = gap is not None and (gap.distinct or gap.mean == 0)
    noise = "" if told else ": a difference these seeds cannot tell from noise"
    censored = measure is ROUNDS and any(_hits(scenario, m) < len(m.runs) for m in (leader, rival))
    return Headline(f"{lead}{noise}.", _detail(gap, measure, censored))


def _rival(scenario: Scenario, leader: Method, measure: Measure) -> Method | None:
    """Random, when it ran; otherwise the next best."""
    order = contest.ranking(scenario, measure)
    others = [m for m in order if m is not leader]
    return next((m for m in others if m.is_baseline), others[0] if others else None)


def _hits(scenario: Scenario, method: Method) -> int:
    return sum(measures.reached(run, scenario.target) is not None for run in method.runs)


def _result(scenario: Scenario, method: Method, measure: Measure, brief: bool = False) -> str:
    """`reached 80 % accuracy in 31 rounds`, or in brief, later in the same sentence, `in 58`."""
    mean = measures.mean(by_seed(scenario, method, measure).values()) or 0.0
    if measure is FINAL:
        return f"at {percent(mean)}" if brief else f"ended at {percent(mean)} accuracy"
    hits, seeds = _hits(scenario, method), len(method.runs)
    if hits == seeds:
        when = f"in {number(mean)}" if brief else f"in {plural(round(mean, 1), 'round')}"
    else:
        when = f"in {hits} of {seeds} seeds only" if hits else f"not within {scenario.horizon}"
    return when if brief else f"reached {short_percent(scenario.target or 0.0)} accuracy {when}"


def _detail(gap: Interval | None, measure: Measure, censored: bool) -> str:
    if gap is None:
        return "They share no seed that ran to the end, so they cannot be compared."
    scale, unit = (100, "percentage point") if measure is FINAL else (1, "round")
    said = f"The gap is {plural(round(scale * gap.mean, 1), unit)}"
    if gap.seeds == 1:
        return f"{said} in the one seed they share; a single pair of runs cannot tell skill from luck."
    low, high = number(scale * gap.low), number(scale * gap.high)
    said += f" (95{THIN}% interval {low} to {high}, paired bootstrap over {gap.seeds} seeds)."
    if gap.seeds < FEWEST:
        said += f" With fewer than {FEWEST} seeds nothing is called more than noise."
    if censored:
        said += " A run that did not get there counts as one round more than it had."
    return said


def _seeds(method: Method) -> str:
    finals = [measures.final_accuracy(run) for run in method.runs]
    spread = measures.deviation(finals)
    about = "" if spread is None else f" ± {number(100 * spread)}"
    return f"Final accuracy {percent(measures.mean(finals))}{about} over {plural(len(method.runs), 'seed')}"
