"""The table of one place: every method's accuracy, how far from the best it is, and how soon it got there.

Best is the method of the highest mean test accuracy, of those with most seeds. A method is tied with the best when the
95 % interval of its paired difference lies above minus one accuracy point; a world of low accuracies may ask for less.
Rounds are counted up to the accuracy that random selection ends with under the same seed, along a straight line between
two evaluations, and their ratios averaged by their logarithms; there a method is tied with the fastest when the
interval of its relative difference lies below a tenth. A method that is not tied is behind when the whole interval is
on the losing side, or when it was clearly out on validation data; else it is unclear, which never counts as tied. The
champion's forms are held to all others and not to each other, so two of them may be best. Until everybody who plays on
has all seeds the place is open, and so it is for a method with fewer than three shared seeds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from callup.analytics.student import Gap, paired_gap
from callup.experiments.metrics import Measured, pooled
from callup.experiments.tournament.board import Board
from callup.experiments.tournament.match import SELECTION_SECONDS
from callup.experiments.tournament.scores import final_accuracy, final_recall
from callup.experiments.tournament.speed import fastest, rounds_by_seed, slower
from callup.experiments.tournament.worlds import Place

Standing = Literal["best", "tied", "unclear", "behind", "open"]
TENTH = 0.1
FEWEST = 3


@dataclass(frozen=True)
class Line:
    """One method in one place; accuracies are shares of 1."""

    method: str
    reference: bool
    accuracy: Measured
    highest: Measured
    """The best accuracy of a run."""
    to_best: Gap
    to_random: Gap | None
    standing: Standing
    rounds: Measured
    to_fastest: Gap | None
    """In rounds, relative: 0.1 is a tenth more."""
    rounds_standing: Standing
    recall: Measured
    """On the classes that Mavericks own."""
    qcid: Measured
    selection: Measured
    """Seconds of a round that choosing took."""
    out: float | None
    """Of a method that is clearly out and has fewer seeds for that: how far behind on validation data it was."""
    rank: int | None = None

    @property
    def worse_than_random(self) -> bool:
        return self.to_random is not None and self.to_random.pairs >= FEWEST and self.to_random.high < 0


def standings(board: Board, place: Place) -> list[Line]:
    """Everybody who has played there, best first; references come last and have no rank."""
    cup = board.cup
    found = {method.name: board.done(place, method) for method in cup.playing(place.world)}
    played = {name: runs for name, runs in found.items() if runs}
    ranked = [name for name in played if not cup.method(name).reference]
    if not ranked:
        return []
    ends = {name: {s: final_accuracy(run.series) for s, run in runs.items()} for name, runs in played.items()}
    targets = ends.get(cup.baseline, {})
    speeds = {name: rounds_by_seed(runs, targets) for name, runs in played.items()}
    verdict, finished = board.clearly_out(place) or {}, board.finished(place)
    lines = []
    for name, runs in played.items():
        out = verdict.get(name) if len(runs) < cup.seeds else None
        held_to = [other for other in ranked if other == name or not {other, name} <= cup.house]
        best, first = _most_accurate(ends, held_to), fastest(speeds, held_to)
        gap = _gap(ends, name, best)
        late = slower(speeds[name], speeds[first]) if first else None
        recalls = [final_recall(run.series) for run in runs.values()]
        times = [run.values.get(SELECTION_SECONDS) for run in runs.values()]
        lines.append(
            Line(
                method=name,
                reference=name not in ranked,
                accuracy=pooled(map(Measured, ends[name].values())),
                highest=pooled(Measured(max(run.series.accuracy)) for run in runs.values()),
                to_best=gap,
                to_random=paired_gap(ends[name], targets),
                standing=_standing(name == best, finished, out)
                or _judged(gap, gap.low >= -place.world.point, gap.high < 0),
                rounds=pooled(speeds[name].values()),
                to_fastest=late,
                rounds_standing=_standing(name == first, finished, out) or _rounds_judged(late),
                recall=pooled(map(Measured, recalls)),
                qcid=pooled(Measured(run.series.qcid) for run in runs.values()),
                selection=pooled(map(Measured, times)),
                out=out,
            )
        )
    return _in_order(lines, {name: _gap(ends, name, _most_accurate(ends, ranked)).mean for name in played})


def _gap(ends: Mapping[str, Mapping[int, float]], name: str, best: str) -> Gap:
    found = paired_gap(ends[name], ends[best])
    return found or Gap(_mean(ends[name]) - _mean(ends[best]), -math.inf, math.inf, 0)


def _most_accurate(ends: Mapping[str, Mapping[int, float]], names: Sequence[str]) -> str:
    most = max(len(ends[name]) for name in names)
    return max((name for name in names if len(ends[name]) == most), key=lambda name: (_mean(ends[name]), name))


def _standing(best: bool, finished: bool, out: float | None) -> Standing | None:
    """What needs no look at the gap; None where that decides."""
    if out is not None:
        return "behind"
    return "open" if not finished else "best" if best else None


def _judged(gap: Gap, near: bool, lost: bool) -> Standing:
    if gap.pairs < FEWEST:
        return "open"
    return "tied" if near else "behind" if lost else "unclear"


def _rounds_judged(late: Gap | None) -> Standing:
    if late is None:
        return "open"
    return _judged(late, late.high <= TENTH, late.low > 0 or math.isinf(late.mean))


def _in_order(lines: list[Line], gaps: Mapping[str, float]) -> list[Line]:
    """By the difference to the best over shared seeds, so that methods with few seeds are not ranked by their luck."""
    ordered = sorted(lines, key=lambda line: (line.reference, -gaps[line.method], line.standing != "best", line.method))
    return [line if line.reference else replace(line, rank=place) for place, line in enumerate(ordered, 1)]


def _mean(values: Mapping[int, float]) -> float:
    return sum(values.values()) / len(values)
