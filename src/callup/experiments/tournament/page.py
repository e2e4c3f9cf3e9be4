"""The tournament as a page of Markdown, made from stored results alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from callup.experiments.tournament import board as rule
from callup.experiments.tournament import extra_time as longer
from callup.experiments.tournament import standings as judging
from callup.experiments.tournament.board import Board
from callup.experiments.tournament.markdown import NONE, after_first_line, by_reason, percent, points, ratio, row, value
from callup.experiments.tournament.overview import KINDS, Duel, Tables, Tally, duel, remembered, tallies, tally
from callup.experiments.tournament.standings import Line, Standing, standings
from callup.experiments.tournament.worlds import Place, World


def tables_of(board: Board) -> dict[str, list[Line]]:
    """By the name of the place; places where nobody has played are empty."""
    return {place.name: standings(board, place) for place in board.places}


def page(board: Board) -> Iterator[str]:
    """Line by line, without a heading of its own."""
    tables = tables_of(board)
    yield from _progress(board)
    known = [world for world in board.cup.worlds if not world.held_out]
    yield from _overview("Worlds of the papers", board, tables, known)
    for draw in sorted({world.held_out for world in board.cup.worlds} - {""}):
        fresh = [world for world in board.cup.worlds if world.held_out == draw]
        yield from _overview(f"Held-out worlds: {draw}", board, tables, fresh)
    if board.cup.champion:
        yield from _champion(board, tables)
        yield from _recall(board, tables)
    yield f"\n## How methods are cut\n\n{after_first_line(rule.__doc__)}"
    yield f"\n## How a place is judged\n\n{after_first_line(judging.__doc__)}"
    if board.cup.periods:
        yield from _extra_time(board)
    for world in board.cup.worlds:
        yield from _world(board, world, tables)


def _extra_time(board: Board) -> Iterator[str]:
    yield f"\n## Extra time\n\n{after_first_line(longer.__doc__)}\n"
    seeds = {place.name: max(board.extra_time(place).values(), default=0) for place in board.places}
    played = [f"{name} ({most} seeds)" for name, most in seeds.items() if most]
    yield f"In {len(played)} of {len(seeds)} places: {_listed(*played)}."


def _progress(board: Board) -> Iterator[str]:
    wanted = board.wanted()
    left = len(board.open())
    undecided = [place.name for place in board.places if board.clearly_out(place) is None]
    yield f"{len(wanted) - left} of {len(wanted)} cells that are known to be needed are stored."
    if undecided:
        some = "; ".join(undecided[:3]) + (f" and {len(undecided) - 3} more" if len(undecided) > 3 else "")
        places = "1 place" if len(undecided) == 1 else f"{len(undecided)} places"
        yield f"The first seeds are not all in, and so the cut is not made, in {places}: {some}."


def _overview(title: str, board: Board, tables: Tables, worlds: Sequence[World]) -> Iterator[str]:
    names = {place.name for world in worlds for place in world.places}
    own = {name: lines for name, lines in tables.items() if name in names and lines}
    yield f"\n## {title}\n"
    if not own:
        yield "Nothing was played yet."
        return
    yield f"{len(own)} of {len(names)} places. Best and tied are shares of the places that are decided. Whoever is"
    yield "clearly out in a place does not play in those that come after it, and has no rank there.\n"
    headings = ("method", *KINDS, "best or tied", "in rounds", "worse than random", "mean rank")
    yield row(*headings)
    yield "|---" * len(headings) + "|"
    for one in tallies(own):
        yield row(*_tally(one, board.cup.champion))


def _tally(one: Tally, champion: str) -> Iterator[str]:
    yield f"**{one.method}**" if one.method == champion else one.method
    for kind in KINDS:
        yield str(len(one.accuracy[kind]))
    yield percent(one.share)
    yield percent(one.rounds_share)
    yield str(len(one.worse_than_random))
    yield f"{one.mean_rank:.1f}"


def _champion(board: Board, tables: Tables) -> Iterator[str]:
    name = board.cup.champion
    own = tally(tables, name)
    yield f"\n## {name} against the best of the others\n"
    if own.share is None:
        yield "No place is decided yet."
        return
    yield f"Of the places that are decided, best or tied in {percent(own.share)} by accuracy and in"
    yield f"{percent(own.rounds_share)} by rounds. Not tied: {_listed(*_lost(own.accuracy))}."
    yield f"Not tied by rounds: {_listed(*_lost(own.rounds))}."
    yield f"Worse than random selection: {_listed(*own.worse_than_random)}.\n"
    yield "The rival is chosen by validation accuracy. Rounds are those to the accuracy the rival ends with, over the"
    yield "rival's own: below 1 is sooner. Recall is on the classes of Mavericks, against the best of the others. A"
    yield "model that names a class too often recalls it well and is less accurate for it: read both together.\n"
    yield "| place | rival | difference, points | rounds, ratio | recall, points |"
    yield "|---|---|---|---|---|"
    for world in board.cup.worlds:
        ratios = []
        for place in world.places:
            one = duel(board, place, name, tables[place.name])
            if one is not None:
                yield row(place.name, one.rival, points(one.accuracy), ratio(one.rounds), _short(one, name))
                ratios += [1 + one.rounds.mean] if one.rounds is not None else []
        if len(ratios) > 1 and math.isfinite(sum(ratios)):
            yield row(f"{world.name}: mean", "", "", f"{sum(ratios) / len(ratios):.2f}", "")


def _lost(places: Mapping[Standing, Sequence[str]]) -> list[str]:
    """What is unclear, and what is worse than that by name."""
    return [*places["unclear"], *(f"{place} (behind)" for place in places["behind"])]


def _short(one: Duel, champion: str) -> str:
    """How far its recall is from the best one."""
    if one.recalls_best == champion:
        return "highest"
    return points(one.recall) + (f" ({one.recalls_best})" if one.recalls_best else "")


def _recall(board: Board, tables: Tables) -> Iterator[str]:
    champion = board.cup.champion
    found = remembered(tables, champion)
    if not found:
        return
    yield "\n## Recall on the classes of Mavericks\n"
    yield f"The mean over the places in which a method has played, and that of {champion} in the same ones, by the"
    yield "difference.\n"
    yield f"| method | places | recall, % | {champion} there, % |"
    yield "|---|---|---|---|"
    for one in found:
        name = f"**{one.method}**" if one.method == champion else one.method
        yield row(name, str(one.places), f"{100 * one.recall:.1f}", f"{100 * one.champion:.1f}")


def _listed(*names: str) -> str:
    return "; ".join(names) or "nowhere"


def _world(board: Board, world: World, tables: Tables) -> Iterator[str]:
    yield f"\n## {world.name}\n\n{world.title}.\n"
    yield f"    callup reproduce {board.cup.address}/{world.name} --scale small\n"
    yield "; ".join(f"{key}: {text}" for key, text in world.sources.items()) + "."
    known = {method.name for method in board.cup.methods}
    left_out = {name: why for name, why in world.absent.items() if name in known}
    if left_out:
        yield f"\nNot there: {by_reason(left_out)}."
    ahead = [place.variant for place in world.places if not tables[place.name]]
    if ahead:
        yield f"\nNot played yet: {'; '.join(ahead)}."
    for place in world.places:
        if tables[place.name]:
            gone = {n: w for n, w in (board.out_before(place) or {}).items() if not board.cup.method(n).reference}
            yield from _place(place, tables[place.name], gone)


def _place(place: Place, lines: Sequence[Line], gone: Mapping[str, str]) -> Iterator[str]:
    yield f"\n### {place.name}\n"
    here = {line.method for line in lines}
    away = by_reason({name: f"clearly out in {where}" for name, where in gone.items() if name not in here})
    if away:
        yield f"Who is not here: {away}.\n"
    recall = any(line.recall.value is not None for line in lines)
    headings = ["rank", "method", "n", "accuracy, %", "best, %", "to the best, points", "rounds to random's end"]
    headings += ["recall, %"] if recall else []
    headings += ["QCID", "choosing, ms", "standing"]
    yield row(*headings)
    yield "|---" * len(headings) + "|"
    for line in lines:
        yield row(*_line(line, recall))


def _line(line: Line, recall: bool) -> Iterator[str]:
    yield NONE if line.rank is None else str(line.rank)
    yield line.method
    yield str(line.accuracy.n)
    yield line.accuracy.text(1, 100)
    yield value(line.highest, 100, ".1f")
    yield "" if line.standing == "best" else points(line.to_best)
    yield line.rounds.text(0)
    if recall:
        yield line.recall.text(1, 100)
    yield value(line.qcid, 1, ".3f")
    yield value(line.selection, 1000, ".1f")
    out = "" if line.out is None else f", out: {100 * line.out:.1f} points behind on validation data"
    yield "reference" if line.reference else f"{line.standing}{out}"
