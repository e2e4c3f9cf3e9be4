"""A small cup on a page: every method against the champion, place by place."""

from __future__ import annotations

from collections.abc import Iterator

from callup.analytics.student import paired_gap
from callup.experiments.tournament.board import Board
from callup.experiments.tournament.cup import Contestant
from callup.experiments.tournament.markdown import NONE, points, row
from callup.experiments.tournament.scores import final_accuracy, recalls_by_seed
from callup.experiments.tournament.worlds import Place


def comparison(board: Board) -> Iterator[str]:
    """Differences in points of test accuracy, over the seeds that both have, with 95 % intervals."""
    cup = board.cup
    champion = cup.method(cup.champion or cup.baseline)
    left, wanted = len(board.open()), len(board.wanted())
    yield f"    callup reproduce {cup.address} --scale small\n"
    yield f"{wanted - left} of {wanted} cells that are known to be needed are stored. The first line has the accuracy"
    yield f"of {champion.name}, the others how many points they are away from it, with 95 % intervals.\n"
    for method in cup.methods:
        told = ", ".join(f"{key} {value}" for key, value in method.settings.items())
        yield f"- {method.name}: {told}{'; ' + method.note if method.note else ''}"
    yield ""
    yield row("method", *(place.name for place in board.places))
    yield "|---" * (1 + len(board.places)) + "|"
    yield row(champion.name, *(_accuracy(board, place, champion) for place in board.places))
    others = [method for method in cup.methods if method.name != champion.name]
    for method in others:
        yield row(method.name, *(_difference(board, place, method, champion) for place in board.places))
    yield from _recalls(board, [champion, *others])


def _recalls(board: Board, methods: list[Contestant]) -> Iterator[str]:
    """The same methods and places by their mean recall on the classes that Mavericks own, where there are any."""
    found = {place.name: {m.name: _recall(board, place, m) for m in methods} for place in board.places}
    known = [name for name, own in found.items() if any(told != NONE for told in own.values())]
    if not known:
        return
    yield "\nTheir recall on the classes of Mavericks, in %:\n"
    yield row("method", *known)
    yield "|---" * (1 + len(known)) + "|"
    for method in methods:
        yield row(method.name, *(found[name][method.name] for name in known))


def _recall(board: Board, place: Place, method: Contestant) -> str:
    known = recalls_by_seed(board.done(place, method)).values()
    return f"{100 * sum(known) / len(known):.1f}" if known else NONE


def _accuracy(board: Board, place: Place, method: Contestant) -> str:
    ends = _ends(board, place, method)
    return f"{100 * sum(ends.values()) / len(ends):.1f}" if ends else NONE


def _difference(board: Board, place: Place, method: Contestant, champion: Contestant) -> str:
    if method.name in place.world.absent:
        return "cannot play"
    return points(paired_gap(_ends(board, place, method), _ends(board, place, champion)))


def _ends(board: Board, place: Place, method: Contestant) -> dict[int, float]:
    return {seed: final_accuracy(run.series) for seed, run in board.done(place, method).items()}
