"""Extra time: where the seeds cannot tell how the champion stands, whoever may be the best there plays more of them.

When a place has been played to its end and the champion is unclear in it, by accuracy or by rounds, a period of extra
time begins there: more seeds for the champion, for random selection, and for all who are not behind by both. After it
the place is judged again by all seeds, and may ask for another period, for those who were in the last one. The
champion's other forms play none. Who plays, and whether, follows from the results of the seeds before alone. Whoever
looks again only where it was unclear makes more places clear either way than were clear by chance at one look: what is
tied or behind after two periods is so at a level of nearly 90 % instead of 95.
"""

from __future__ import annotations

from collections.abc import Mapping

from callup.experiments.reproduce.store import Results
from callup.experiments.tournament.board import Board
from callup.experiments.tournament.cup import Cup
from callup.experiments.tournament.standings import Line, standings
from callup.experiments.tournament.worlds import Place


class LongBoard(Board):
    """A board that goes into extra time."""

    def __init__(self, cup: Cup, results: Results) -> None:
        super().__init__(cup, results)
        self._earned: dict[str, tuple[int, Mapping[str, int]]] = {}

    def extra_time(self, place: Place) -> Mapping[str, int]:
        played = len(self.results)
        known, earned = self._earned.get(place.name, (-1, {}))
        if known != played:
            earned = self._earn(place)
            self._earned[place.name] = played, earned
        return earned

    def _earn(self, place: Place) -> Mapping[str, int]:
        earned: dict[str, int] = {}
        for period in range(1, self.cup.periods + 1):
            before = Board(self.cup, self.results, {place.name: dict(earned)})
            if not before.finished(place):
                break
            names = contenders(self.cup, standings(before, place))
            going_on = [name for name in names if name in earned or period == 1]
            if not going_on:
                break
            earned |= dict.fromkeys(going_on, self.cup.seeds + period * self.cup.extra_seeds)
        return earned


def contenders(cup: Cup, lines: list[Line]) -> list[str]:
    """Who would play extra time after this table; nobody if it is clear how the champion stands."""
    champion = next((line for line in lines if line.method == cup.champion), None)
    if champion is None or "unclear" not in (champion.standing, champion.rounds_standing):
        return []
    return [
        line.method
        for line in lines
        if line.method in (cup.champion, cup.baseline)
        or not (line.reference or line.method in cup.house or line.standing == line.rounds_standing == "behind")
    ]
