"""What was played so far, and what is to be played next: two seeds for everybody, the rest for who is still in.

The rule. In every place all methods play the first seeds. A method's score is its mean accuracy on validation data over
the last fifth of the evaluations. The leader is the method of the highest mean score, the champion left aside, in all
its forms: what it does decides nothing about the others, so the best of them always plays on. Whoever is behind the
leader by more than the world's margin in each of the first seeds is clearly out and plays no more. The others play all
seeds. Random selection and the champion always play on; references never do. Test accuracy has no part in it.

Two kinds of places come later, and not everybody begins there. A place with lost replies comes after the same one
without, and who was clearly out in that stays out. A dear world comes after a cheap one of its kind, and only those
begin who were within half the margin of its leaders: on the mean of the first seeds in all its places without losses.
References play only where nothing comes before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from callup.core.errors import InputError, UsageError
from callup.experiments.reproduce.cells import Cell, merged
from callup.experiments.reproduce.store import Done, Results
from callup.experiments.tournament.cup import Contestant, Cup
from callup.experiments.tournament.scores import final_accuracy
from callup.experiments.tournament.worlds import Place, World
from callup.simulation.settings import settings

NOBODY: Mapping[str, Mapping[str, int]] = MappingProxyType({})


class Board:
    """A cup with the results there are; the same results always give the same plan."""

    def __init__(self, cup: Cup, results: Results, extra_time: Mapping[str, Mapping[str, int]] = NOBODY) -> None:
        self.cup, self.results = cup, results
        self._extra_time = extra_time
        self._cells: dict[tuple[str, str, int], Cell] = {}

    @property
    def places(self) -> list[Place]:
        return [place for world in self.cup.worlds for place in world.places]

    def cell(self, place: Place, method: Contestant, seed: int) -> Cell:
        """One run; a method's own settings go before the world's, and what the world recommends for it before both."""
        address = (place.name, method.name, seed)
        if address not in self._cells:
            world = place.world
            layers = [world.base, place.changes, method.settings, world.presets.get(method.name, {}), self.cup.fixed]
            values = merged(layers)
            pace = float(values.pop("seconds", world.seconds + method.extra))
            try:
                made = settings(**values, seed=seed)
                cell = Cell("match", made, pace * made.rounds)
                _ = cell.key  # a name that nobody knows is told now, with the world it stands in
            except UsageError as error:
                raise InputError(f"{place.name}, {method.name}: {error}") from error
            self._cells[address] = cell
        return self._cells[address]

    def done(self, place: Place, method: Contestant) -> dict[int, Done]:
        """By seed, as far as it was played."""
        seeds = range(self.seeds_of(place, method))
        found = {seed: self.results.get(self.cell(place, method, seed)) for seed in seeds}
        return {seed: done for seed, done in found.items() if done is not None}

    def seeds_of(self, place: Place, method: Contestant) -> int:
        """How many it plays there if it is not cut."""
        return self.extra_time(place).get(method.name, self.cup.seeds)

    def extra_time(self, place: Place) -> Mapping[str, int]:
        """Methods that play more than all seeds there, each with how many in all."""
        return self._extra_time.get(place.name, {})

    def out_before(self, place: Place) -> dict[str, str] | None:
        """Methods that do not begin there, each with where they went out; None before that is known."""
        if place.lossless:
            earlier = [one for one in place.world.places if one.variant == place.lossless]
        else:
            earlier = [
                one for w in self.cup.known if w.name == place.world.after for one in w.places if not one.lossless
            ]
        if not earlier:
            return {}
        before, gaps = [self.out_before(one) for one in earlier], [self._gaps(one) for one in earlier]
        if None in before or None in gaps:
            return None
        if place.lossless:
            out, where = self.clearly_out(earlier[0]) or {}, earlier[0].name
        else:
            out, where = _behind([one for one in gaps if one], earlier[0].world.margin / 2), earlier[0].world.name
        gone = {name: cause for one in before if one for name, cause in one.items()}
        references = {method.name: "a reference" for method in self.cup.methods if method.reference}
        return {**references, **gone, **dict.fromkeys(sorted(out), where)}

    def playing(self, place: Place) -> list[Contestant] | None:
        """Who begins there; None before that is known."""
        gone = self.out_before(place)
        return None if gone is None else [one for one in self.cup.playing(place.world) if one.name not in gone]

    def clearly_out(self, place: Place) -> dict[str, float] | None:
        """Methods that play no more, each with how far behind it is on the mean; None before all first seeds are in."""
        behind, margin = self._gaps(place), place.world.margin
        if behind is None:
            return None
        return {name: _mean(gaps) for name, gaps in behind.items() if min(gaps) > margin}

    def _gaps(self, place: Place) -> dict[str, list[float]] | None:
        """How far each method that may go out is behind the leader, by first seed; None before all of them are in."""
        playing = self.playing(place)
        if playing is None:
            return None
        first = range(self.cup.first)
        scores: dict[str, list[float]] = {}
        for method in playing:
            played = self.done(place, method)
            if any(seed not in played for seed in first):
                return None
            if not method.reference:
                scores[method.name] = [final_accuracy(played[seed].series, "validation") for seed in first]
        safe = {self.cup.baseline, *self.cup.house}
        rivals = [name for name in scores if name not in self.cup.house]
        leader = max(rivals, key=lambda name: (sum(scores[name]), name))
        return {
            name: [best - score for best, score in zip(scores[leader], own, strict=True)]
            for name, own in scores.items()
            if name not in safe
        }

    def finished(self, place: Place) -> bool:
        """Everybody who plays on there has all seeds."""
        out = self.clearly_out(place)
        staying = [m for m in self.playing(place) or [] if out is not None and m.name not in out and not m.reference]
        return bool(staying) and all(len(self.done(place, one)) == self.seeds_of(place, one) for one in staying)

    def wanted(self, world: World | None = None) -> list[Cell]:
        """Every cell that is known to be part of the cup by now, or of one world of it, seed by seed."""
        return list({cell.key: cell for _, cell in self._wanted(world)}.values())

    def open(self, world: World | None = None) -> list[tuple[str, Cell]]:
        """What can be run now, with the world whose file it goes to; after that, ask again."""
        found = {cell.key: (name, cell) for name, cell in self._wanted(world)}
        return [found[cell.key] for cell in self.results.missing(cell for _, cell in found.values())]

    def likely(self, share_out: float = 0.5) -> list[Cell]:
        """Wanted cells, and a guess at those that the rule has not spoken about yet: this share of methods goes out."""
        cells = self.wanted()
        for place in self.places:
            if self.clearly_out(place) is None:
                playing = self.playing(place)
                ranked = [m for m in playing or self.cup.playing(place.world) if not m.reference]
                if playing is None:
                    ranked = _some(ranked, 1 - share_out)
                    cells += [self.cell(place, m, seed) for m in ranked for seed in range(self.cup.first)]
                staying = ranked if playing is None else _some(ranked, 1 - share_out)
                cells += [self.cell(place, m, seed) for m in staying for seed in range(self.cup.first, self.cup.seeds)]
        return self.results.missing({cell.key: cell for cell in cells}.values())

    def _wanted(self, world: World | None) -> Iterator[tuple[str, Cell]]:
        places = self.places if world is None else list(world.places)
        begun = {place.name: self.playing(place) or [] for place in places}
        verdicts = {place.name: self.clearly_out(place) for place in places}
        for seed in range(self.cup.most_seeds):
            for place in places:
                out = verdicts[place.name]
                for method in begun[place.name]:
                    again = out is not None and method.name not in out and not method.reference
                    if seed < self.cup.first or (again and seed < self.seeds_of(place, method)):
                        yield place.world.name, self.cell(place, method, seed)


def _behind(places: list[dict[str, list[float]]], margin: float) -> dict[str, float]:
    """Methods that are so far behind on the mean over seeds and places."""
    names = {name for gaps in places for name in gaps}
    means = {name: _mean([gap for gaps in places for gap in gaps.get(name, [])]) for name in names}
    return {name: mean for name, mean in means.items() if mean > margin}


def _mean(gaps: list[float]) -> float:
    return sum(gaps) / len(gaps)


def _some(methods: list[Contestant], share: float) -> list[Contestant]:
    """This share of them, spread evenly."""
    numbers = [int(number * share) for number in range(len(methods) + 1)]
    return [method for method, now, then in zip(methods, numbers[1:], numbers, strict=False) if now > then]
