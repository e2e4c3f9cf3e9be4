"""From finished cells to the numbers of a table."""

from __future__ import annotations

from typing import Any

from callup.core.errors import CallupError, InputError
from callup.experiments.metrics import METRICS, Measured, Series, pooled
from callup.experiments.reproduce.cells import cell, kind_of, seeds_of
from callup.experiments.reproduce.store import Results
from callup.experiments.reproduce.tables import Environment, Measure, Scale, Table, Way


class Bench:
    """One table at one scale, with what was run of it so far."""

    def __init__(self, table: Table, scale: Scale, results: Results) -> None:
        self.table, self.scale, self._results = table, scale, results

    def measure(self, name: str) -> Measure:
        for measure in self.table.measures:
            if measure.name == name:
                return measure
        raise InputError(f"{self.table.address}: no measure is called '{name}'")

    def environment(self, name: str) -> Environment:
        for environment in self.table.environments:
            if environment.name == name:
                return environment
        raise InputError(f"{self.table.address}: no environment is called '{name}'")

    def way(self, name: str, environment: Environment) -> Way:
        """The first reading of the method that is run in the environment."""
        for way in self.table.methods:
            if way.name == name and (not way.only or environment.name in way.only):
                return way
        raise InputError(f"{self.table.address}: no method is called '{name}' in {environment.name}")

    def absent(self, measure: Measure, environment: Environment, way: Way) -> str:
        """Why there is no run and will be none at this scale; empty where there is or will be one."""
        if kind_of(self.table, way, measure.training_free) == "picks":
            return ""
        if self.scale.skip:
            return self.scale.skip
        if self.scale.only and environment.name not in self.scale.only:
            return f"not part of --scale {self.scale.name}"
        return self.scale.without.get(way.name, "")

    def cut(self, measure: Measure, environment: Environment, way: Way) -> str:
        """What makes this less than the paper's own run; empty for the full size."""
        if kind_of(self.table, way, measure.training_free) == "picks":
            return str(self.table.picks.get("note", ""))
        substitute = f"on {environment.dataset}" if environment.dataset else ""
        return "; ".join(filter(None, (self.scale.note, substitute)))

    def each(self, measure: Measure, environment: Environment, way: Way) -> dict[int, Measured]:
        """The measure for every seed that is done, in the unit of the table."""
        kind = kind_of(self.table, way, measure.training_free)
        found = {}
        for seed in seeds_of(self.table, self.scale, kind, way):
            ways = {"": way, **{option: self.way(name, environment) for option, name in measure.references.items()}}
            parts = {option: self._part(measure, environment, each, seed) for option, each in ways.items()}
            if all(part is not None for part in parts.values()):
                found[seed] = self._measured(measure, environment, parts)
        return found

    def pooled(self, measure: Measure, each: dict[int, Measured]) -> Measured:
        return pooled(each.values(), "median" if measure.median else "mean")

    def _part(self, measure: Measure, environment: Environment, way: Way, seed: int) -> Series | Measured | None:
        """What the metric is given: the curve of a run or, for a measure of a measure, that one's number."""
        if measure.via:
            return self.each(self.measure(measure.via), environment, way).get(seed)
        kind = kind_of(self.table, way, measure.training_free)
        done = self._results.get(cell(self.table, self.scale, environment, way, seed, kind))
        if done is None or measure.metric != "value":
            return None if done is None else done.series
        return Measured(done.values.get(way.value))

    def _measured(self, measure: Measure, environment: Environment, parts: dict[str, Any]) -> Measured:
        if measure.metric == "value":
            found = parts[""]
            return Measured(None if found.value is None else measure.factor * found.value)
        options = {**measure.options, **measure.by_environment.get(environment.name, {})}
        ours = self.scale.by_environment.get(environment.name, {})
        options |= {name: value for name, value in ours.items() if name in options}
        try:
            metric = METRICS[measure.metric]
            found = metric(parts.pop(""), **options, **parts)
        except (CallupError, KeyError, TypeError) as error:
            raise InputError(f"{self.table.address}, {measure.name}: {error}") from error
        value = None if found.value is None else measure.factor * found.value
        return Measured(value, found.bound, found.n)
