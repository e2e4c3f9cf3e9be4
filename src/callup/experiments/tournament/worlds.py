"""Worlds as data: federations to compare methods in, each with and without lost replies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from callup.core.errors import InputError, UsageError
from callup.core.spec import build
from callup.experiments.reproduce.reading import read_toml


@dataclass(frozen=True)
class World:
    """A kind of federation and its variants, all in one file."""

    name: str
    title: str
    base: Mapping[str, Any]
    """Settings of every run in it."""
    environments: tuple[Mapping[str, Any], ...]
    """Its variants: a name, changes to `base`, and `lost` where it differs from the world's."""
    sources: Mapping[str, str]
    """Where the settings come from."""
    seconds: float
    """What a round of random selection took on one core."""
    lost: float = 0.2
    """Every variant is played a second time, with this chance that a client asked does not reply; 0 for once only."""
    margin: float = 0.03
    """How far behind the leader, in accuracy on validation data, a method is clearly out."""
    point: float = 0.01
    """How near to the best, in accuracy, counts as tied with it: one point, or less where accuracies are low."""
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Settings of single methods that are recommended here."""
    absent: Mapping[str, str] = field(default_factory=dict)
    """Methods that cannot play here, each with the reason."""
    after: str = ""
    """A cheaper world of the same kind: who was behind in it by more than half its margin does not play here."""
    held_out: str = ""
    """The draw it is from; empty for a world that was known while designing."""
    only: tuple[str, ...] = ()
    """Names of the places that a cup is played in; none means all."""

    @property
    def places(self) -> tuple[Place, ...]:
        return tuple(place for place in self._places() if not self.only or place.name in self.only)

    def _places(self) -> Iterator[Place]:
        for environment in self.environments:
            name, lost = str(environment["name"]), float(environment.get("lost", self.lost))
            changes = {key: value for key, value in environment.items() if key not in ("name", "lost")}
            yield Place(self, name, changes)
            if lost:
                yield Place(self, f"{name}, {lost:.0%} lost".replace("%", " %"), {**changes, "lost": lost}, name)


@dataclass(frozen=True)
class Place:
    """One federation that all methods meet; what the tables count."""

    world: World
    variant: str
    changes: Mapping[str, Any]
    lossless: str = ""
    """The variant that this one is with lost replies; none for one where all arrive."""

    @property
    def name(self) -> str:
        return f"{self.world.name}: {self.variant}"


def read_world(path: Path, held_out: str = "") -> World:
    """A world from its file; a mistake in it is told with the file's name."""
    values = read_toml(path)
    try:
        for environment in values.get("environments", ()):
            if "name" not in environment:
                raise UsageError("every one of environments needs a name")
        world: World = build(World, "world", {**values, "name": path.stem, "held_out": held_out})
    except UsageError as error:
        raise InputError(f"{path}: {error}") from error
    variants = [place.variant for place in world.places]
    if not variants or len(set(variants)) < len(variants):
        raise InputError(f"{path}: environments must be there and have names of their own")
    return world
