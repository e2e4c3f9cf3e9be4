"""Over all places: how often each method is best, tied or behind, and where it loses to chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from callup.analytics.student import Gap, paired_gap
from callup.experiments.tournament.board import Board
from callup.experiments.tournament.scores import final_accuracy, recalls_by_seed
from callup.experiments.tournament.speed import rounds_by_seed, slower
from callup.experiments.tournament.standings import Line, Standing
from callup.experiments.tournament.worlds import Place

KINDS: tuple[Standing, ...] = ("best", "tied", "unclear", "behind", "open")
Tables = Mapping[str, Sequence[Line]]
"""By the name of the place."""


@dataclass(frozen=True)
class Tally:
    """One method over the places it has played in."""

    method: str
    accuracy: Mapping[Standing, tuple[str, ...]]
    """Names of places."""
    rounds: Mapping[Standing, tuple[str, ...]]
    worse_than_random: tuple[str, ...]
    mean_rank: float

    @property
    def share(self) -> float | None:
        """Of the places that are decided, those where it is best or tied in accuracy."""
        return _share(self.accuracy)

    @property
    def rounds_share(self) -> float | None:
        return _share(self.rounds)


def tally(tables: Tables, method: str) -> Tally:
    """For any method by name; one that has played nowhere has empty counts."""
    own = {place: line for place, lines in tables.items() for line in lines if line.method == method}
    ranks = [line.rank for line in own.values() if line.rank is not None]
    return Tally(
        method,
        {kind: tuple(p for p, line in own.items() if line.standing == kind) for kind in KINDS},
        {kind: tuple(p for p, line in own.items() if line.rounds_standing == kind) for kind in KINDS},
        tuple(place for place, line in own.items() if line.worse_than_random),
        sum(ranks) / len(ranks) if ranks else float("nan"),
    )


def tallies(tables: Tables) -> list[Tally]:
    """Every ranked method, the one that is most often best or tied first."""
    names = dict.fromkeys(line.method for lines in tables.values() for line in lines if not line.reference)
    found = [tally(tables, name) for name in names]
    return sorted(found, key=lambda t: (-(t.share or 0.0), t.mean_rank, t.method))


@dataclass(frozen=True)
class Duel:
    """A method against the best of the others, chosen by validation accuracy, in one place."""

    place: str
    rival: str
    accuracy: Gap | None
    rounds: Gap | None
    """Relative difference in rounds to where the rival ends."""
    recall: Gap | None
    """Difference to the best recall any method has on the classes that Mavericks own."""
    recalls_best: str | None


def duel(board: Board, place: Place, method: str, lines: Sequence[Line]) -> Duel | None:
    """None before everybody has played there."""
    own = next((line for line in lines if line.method == method), None)
    ours = board.cup.house | {method}
    others = [line.method for line in lines if line.method not in ours and not line.reference]
    if own is None or not others or not board.finished(place):
        return None
    runs = {name: board.done(place, board.cup.method(name)) for name in [method, *others]}
    held_out = {n: {s: final_accuracy(r.series, "validation") for s, r in runs[n].items()} for n in others}
    most = max(len(held_out[name]) for name in others)
    rival = max((n for n in others if len(held_out[n]) == most), key=lambda n: (sum(held_out[n].values()), n))
    ends = {name: {s: final_accuracy(r.series) for s, r in runs[name].items()} for name in (method, rival)}
    speeds = {name: rounds_by_seed(runs[name], ends[rival]) for name in (method, rival)}
    recalls = {
        line.method: line.recall.value for line in lines if line.method in runs and line.recall.value is not None
    }
    best = max(recalls, key=lambda name: (recalls[name], name == method)) if method in recalls else None
    short = paired_gap(recalls_by_seed(runs[method]), recalls_by_seed(runs[best])) if best else None
    gap = paired_gap(ends[method], ends[rival])
    return Duel(place.name, rival, gap, slower(speeds[method], speeds[rival]), short, best)


@dataclass(frozen=True)
class Remembered:
    """A method's recall on the classes of Mavericks, on the mean, beside the champion's in the same places."""

    method: str
    places: int
    recall: float
    champion: float


def remembered(tables: Tables, champion: str) -> list[Remembered]:
    """Every ranked method that has played where there are Mavericks, the one that recalls their classes best first."""
    recalls = {
        place: {
            line.method: line.recall.value for line in lines if not line.reference and line.recall.value is not None
        }
        for place, lines in tables.items()
    }
    shared = [own for own in recalls.values() if champion in own]
    names = dict.fromkeys(name for own in shared for name in own)
    found = []
    for name in names:
        both = [(own[name], own[champion]) for own in shared if name in own]
        theirs, ours = (sum(values) / len(both) for values in zip(*both, strict=True))
        found.append(Remembered(name, len(both), theirs, ours))
    return sorted(found, key=lambda one: (one.champion - one.recall, one.method))


def _share(places: Mapping[Standing, tuple[str, ...]]) -> float | None:
    decided = sum(len(places[kind]) for kind in KINDS if kind != "open")
    return (len(places["best"]) + len(places["tied"])) / decided if decided else None
