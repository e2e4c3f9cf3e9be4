"""The runs behind a table: one cell for each environment, method and seed, named by what its result depends on."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from callup.core.catalogue import AVERAGES, FILTERS, SELECTORS
from callup.core.errors import InputError, UsageError
from callup.core.registry import Registry
from callup.core.spec import parse_spec
from callup.experiments.reproduce.tables import Environment, Scale, Table, Way
from callup.partition.scheme import PARTITIONS
from callup.simulation.availability import AVAILABILITIES
from callup.simulation.latency import LATENCIES
from callup.simulation.settings import Settings, settings
from callup.simulation.task import TASKS

Kind = Literal["picks", "run", "match", "shapley", "class-ratio"]
"""Selection alone, a whole run, one of the tournament (it keeps more), or one of `STUDIES`."""

_REGISTRIES: Mapping[str, Registry[Any]] = {
    "task": TASKS,
    "partition": PARTITIONS,
    "availability": AVAILABILITIES,
    "selector": SELECTORS,
    "filter": FILTERS,
    "average": AVERAGES,
    "latency": LATENCIES,
}
_PICKS_PACE = 0.002
"""Seconds for a round in which nobody trains."""
# Who is chosen, where nothing is trained, depends on these alone; tables that differ in the rest share such cells.
_OF_PICKS = ("task", "partition", "availability", "selector", "k", "rounds", "seed")
# Always part of a run's name; any other setting is part of it only where it is not at its default, so that a setting
# added to the simulator one day leaves the names of finished cells as they are.
_OF_RUNS = (*_OF_PICKS, "average", "latency", "evaluate_every", "local")
_NOT_OF_RESULTS = ("workers", "backend", "scenario", "target")


@dataclass(frozen=True)
class Cell:
    """One run to be done or done already."""

    kind: Kind
    settings: Settings
    seconds: float
    """What it is likely to take on one core."""

    @functools.cached_property
    def key(self) -> str:
        """The same for the same settings and behaviour, whatever else has changed in the project."""
        return _digest(json.dumps([self.kind, self.identity, self.versions], sort_keys=True))

    @functools.cached_property
    def identity(self) -> dict[str, Any]:
        """The settings that results depend on."""
        plain, usual = self.settings.plain(), Settings().plain()
        if self.kind == "picks":
            return {name: plain[name] for name in _OF_PICKS}
        special = [n for n in plain if n not in (*_OF_RUNS, *_NOT_OF_RESULTS) and plain[n] != usual.get(n)]
        return {name: plain[name] for name in (*_OF_RUNS, *special)}

    @functools.cached_property
    def versions(self) -> dict[str, int]:
        """Of everything named; each is raised when its behaviour changes."""
        named = {kind: str(self.identity[kind]) for kind in _REGISTRIES if kind in self.identity}
        return {f"{kind} {_name(spec)}": _REGISTRIES[kind].card(_name(spec)).version for kind, spec in named.items()}


def cell(table: Table, scale: Scale, environment: Environment, way: Way, seed: int, kind: Kind) -> Cell:
    """The run of one method in one environment; later changes go before earlier ones."""
    layers = [table.base, environment.settings, way.settings]
    if kind == "picks":
        layers += [{k: v for k, v in table.picks.items() if k not in ("seeds", "note")}]
    else:
        layers += [scale.settings, scale.environments.get(environment.name, {}), scale.methods.get(way.name, {})]
    values = merged(layers)
    pace = float(values.pop("seconds", table.seconds))
    try:
        made = settings(**values, seed=seed)
        ready = Cell(kind, made, (_PICKS_PACE if kind == "picks" else pace) * made.rounds)
        _ = ready.key  # a name in the table that nobody knows is told now, with the table it stands in
    except UsageError as error:
        raise InputError(f"{table.address}, {environment.name}, {way.name}: {error}") from error
    return ready


def cells(table: Table, scale: Scale) -> list[Cell]:
    """All cells of a table at a scale, each once; seed by seed, so that what is done always compares every method."""
    found: dict[str, Cell] = {}
    for seed, environment, way, kind in _places(table, scale):
        made = cell(table, scale, environment, way, seed, kind)
        found.setdefault(made.key, made)
    return list(found.values())


def seeds_of(table: Table, scale: Scale, kind: Kind, way: Way) -> range:
    return range(way.picks_seeds or int(table.picks.get("seeds", 1)) if kind == "picks" else scale.seeds)


def kind_of(table: Table, way: Way, measure_is_free: bool) -> Kind:
    """Choices that training does not touch are played without it."""
    if table.study:
        return table.study
    return "picks" if table.picks and way.training_free and measure_is_free else "run"


def runs_in(table: Table, way: Way, environment: Environment) -> bool:
    """Whether the method belongs to the environment: the paper has a row for it, or it is a study without rows."""
    if way.only and environment.name not in way.only:
        return False
    place = environment.of or environment.name
    rows = [row for row in table.published if row.environment == place]
    return not rows or way.name in {row.method for row in rows}


def _places(table: Table, scale: Scale) -> Iterator[tuple[int, Environment, Way, Kind]]:
    for kind in get_args(Kind):
        if kind != "picks" and scale.skip:
            continue
        most = max((len(seeds_of(table, scale, kind, way)) for way in table.methods), default=0)
        for seed in range(most):
            for environment in table.environments:
                if kind != "picks" and scale.only and environment.name not in scale.only:
                    continue
                for way in table.methods:
                    if kind != "picks" and way.name in scale.without:
                        continue
                    kinds = {kind_of(table, way, measure.training_free) for measure in table.measures}
                    wanted = kind in kinds and seed in seeds_of(table, scale, kind, way)
                    if wanted and runs_in(table, way, environment):
                        yield seed, environment, way, kind


def merged(layers: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Later layers go before earlier ones; local training is merged setting by setting."""
    values: dict[str, Any] = {}
    for layer in layers:
        local = {**values.get("local", {}), **layer.get("local", {})}
        values |= layer
        if local:
            values["local"] = local
    return values


def _name(spec: str) -> str:
    return parse_spec(spec)[0]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:20]
