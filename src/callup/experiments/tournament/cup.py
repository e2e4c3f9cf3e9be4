"""Who plays, where, and by which rule: a cup is a list of methods and worlds in one file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from callup.core.errors import InputError, UsageError, suggest
from callup.core.spec import build
from callup.core.types import check_k
from callup.experiments.reproduce.reading import read_toml
from callup.experiments.tournament.worlds import World, read_world

MAIN = "tournament"
FOLDER = "tournament"
HELD_OUT = "held-out"
"""Folders of draws begin like this."""


@dataclass(frozen=True)
class Contestant:
    """A method with the settings it plays with."""

    name: str
    settings: Mapping[str, Any]
    extra: float = 0.0
    """Seconds that a round takes on one core on top of what random selection takes."""
    reference: bool = False
    """Shown beside the others and neither ranked nor given more than the first seeds."""
    ours: bool = False
    """The champion in another form: never cut, cuts nobody, and not among the others that the champion is held to."""
    note: str = ""


@dataclass(frozen=True)
class Trial:
    """A few tiny runs that show that everything works."""

    worlds: tuple[str, ...]
    methods: tuple[str, ...]
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class Cup:
    """Methods, worlds and how many seeds; `first` of them for everybody, all of them for who is not clearly out."""

    name: str
    title: str
    methods: tuple[Contestant, ...]
    worlds: tuple[World, ...]
    check: Trial
    baseline: str = "random"
    champion: str = ""
    """The method whose standing is spelled out; it is never cut."""
    first: int = 2
    seeds: int = 5
    extra_seeds: int = 0
    """In a period of extra time."""
    periods: int = 0
    """Of extra time, at most, in a place where seeds cannot tell how the champion stands."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Changes to every run, e.g. fewer rounds."""
    known: tuple[World, ...] = ()
    """All worlds of the cup, also when only some are asked for: others may come after them."""

    def __post_init__(self) -> None:
        if check_k(self.first, "first") > check_k(self.seeds, "seeds"):
            raise UsageError(f"first is {self.first}, more than all seeds, {self.seeds}")
        names = [method.name for method in self.methods]
        for role in filter(None, (self.baseline, self.champion)):
            if role not in names:
                raise UsageError(f"no method is called '{role}'{suggest(role, names)}")
        if len(set(names)) < len(names):
            raise UsageError("two methods have the same name")
        if not self.known:
            object.__setattr__(self, "known", self.worlds)

    @property
    def address(self) -> str:
        return FOLDER if self.name == MAIN else f"{FOLDER}/{self.name}"

    def method(self, name: str) -> Contestant:
        for method in self.methods:
            if method.name == name:
                return method
        raise UsageError(f"no method is called '{name}'{suggest(name, [m.name for m in self.methods])}")

    @property
    def most_seeds(self) -> int:
        return self.seeds + self.periods * self.extra_seeds

    @property
    def house(self) -> frozenset[str]:
        """The champion in all its forms."""
        return frozenset({method.name for method in self.methods if method.ours} | {self.champion})

    def playing(self, world: World) -> list[Contestant]:
        """Those who can play there."""
        return [method for method in self.methods if method.name not in world.absent]


def read_cup(folder: Path, name: str = MAIN) -> Cup:
    """The cup of this name in the tournament's folder. It is played in all worlds, or in those of `worlds` or `places`;
    held-out worlds belong to the tournament alone."""
    path = folder / f"{name}.toml"
    values = read_toml(path)
    worlds = [read_world(file) for file in (folder / "worlds").glob("*.toml")]
    worlds.sort(key=lambda world: (world.seconds, world.name))  # what is cheap is known first
    if name == MAIN:
        worlds += [read_world(file, file.parent.name) for file in sorted(folder.glob(f"{HELD_OUT}*/*.toml"))]
    try:
        chosen = _chosen(worlds, values.pop("worlds", []), values.pop("places", []))
        methods = tuple(_contestant(item) for item in values.pop("methods", []))
        trial = build(Trial, "check", values.pop("check", {}))
        _check_order(worlds)
        cup: Cup = build(Cup, "cup", {**values, "name": name, "methods": methods, "worlds": chosen, "check": trial})
    except UsageError as error:
        raise InputError(f"{path}: {error}") from error
    return cup


def _chosen(worlds: list[World], names: list[str], places: list[str]) -> tuple[World, ...]:
    known = {place.name: world.name for world in worlds for place in world.places}
    for what, asked, there in (("world", names, [w.name for w in worlds]), ("place", places, list(known))):
        for name in asked:
            if name not in there:
                raise UsageError(f"no {what} is called '{name}'{suggest(str(name), there)}")
    if names and places:
        raise UsageError("worlds and places are both given; a place has its world in its name")
    if not names and not places:
        return tuple(worlds)
    homes = {*names, *(known[place] for place in places)}
    return tuple(replace(world, only=tuple(places)) for world in worlds if world.name in homes)


def _check_order(worlds: list[World]) -> None:
    names = [world.name for world in worlds if not world.after]
    for world in worlds:
        if world.after and world.after not in names:
            hint = suggest(world.after, names)
            raise UsageError(f"{world.name} comes after '{world.after}', which is no world that comes first{hint}")


def _contestant(item: Mapping[str, Any]) -> Contestant:
    """Whatever is no field of its own is a setting of the run."""
    own = set(Contestant.__dataclass_fields__)
    settings = {key: value for key, value in item.items() if key not in own}
    named = {key: value for key, value in item.items() if key in own}
    made: Contestant = build(Contestant, "methods", {**named, "settings": settings})
    return made
