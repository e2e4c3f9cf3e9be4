"""Runs sorted into what is compared with what: scenarios, the methods in each, the seeds of each method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from callup.core.catalogue import SELECTORS
from callup.core.errors import InputError, UsageError
from callup.core.registry import Card
from callup.core.spec import parse_spec
from callup.report import measures
from callup.simulation.run import Run


@dataclass(frozen=True)
class Method:
    """One way of choosing, with a run for each seed, in the order of seeds."""

    name: str
    runs: tuple[Run, ...]

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(seed_of(run) for run in self.runs)

    @cached_property
    def card(self) -> Card | None:
        """The method's card; None for a selector this installation does not know."""
        try:
            return SELECTORS.card(parse_spec(str(self.runs[0].settings.get("selector", "")))[0])
        except UsageError:
            return None

    @property
    def takes_everyone(self) -> bool:
        """A reference, not a rival: it calls everyone and ignores k."""
        return self.card is not None and self.card.takes_everyone

    @property
    def is_baseline(self) -> bool:
        return self.name == "random"


@dataclass(frozen=True)
class Scenario:
    """Methods that met the same federations."""

    title: str
    methods: tuple[Method, ...]
    target: float | None
    """The accuracy to reach; None when there is none."""
    rare_classes: tuple[int, ...]

    @property
    def runs(self) -> list[Run]:
        return [run for method in self.methods for run in method.runs]

    @cached_property
    def horizon(self) -> int:
        """The last round in which any run was evaluated; 0 when none was."""
        last = [measures.last_evaluated(run) for run in self.runs]
        return max((record.index for record in last if record), default=0)

    @property
    def baseline(self) -> Method | None:
        return next((method for method in self.methods if method.is_baseline), None)


def seed_of(run: Run) -> int:
    return int(run.settings.get("seed", 0))


def scenarios(runs: Sequence[Run]) -> list[Scenario]:
    """Scenarios and methods in the order they first appear."""
    if not runs:
        raise InputError("there are no runs to report on; run `callup race` first")
    titles: dict[str, list[Run]] = {}
    for run in runs:
        titles.setdefault(_text(run.settings, "scenario", "task") or "Unnamed scenario", []).append(run)
    return [_scenario(title, members) for title, members in titles.items()]


def _scenario(title: str, runs: list[Run]) -> Scenario:
    targets = {float(run.settings["target"]) for run in runs if run.settings.get("target") is not None}
    if len(targets) > 1:
        raise InputError(
            f"runs of '{title}' have different targets {sorted(targets)}; give each its own scenario title to compare"
        )
    several_averages = len({_text(run.settings, "average") for run in runs}) > 1
    methods: dict[str, dict[int, Run]] = {}
    for run in runs:
        members = methods.setdefault(_method_name(run.settings, several_averages), {})
        if seed_of(run) in members:
            raise InputError(
                f"'{title}' holds seed {seed_of(run)} of {_method_name(run.settings)} twice; leave one out"
            )
        members[seed_of(run)] = run
    return Scenario(
        title,
        tuple(Method(name, tuple(by_seed[s] for s in sorted(by_seed))) for name, by_seed in methods.items()),
        next(iter(targets), None),
        tuple(sorted({int(c) for run in runs for c in run.settings.get("rare_classes") or ()})),
    )


def _method_name(settings: Mapping[str, Any], with_average: bool = False) -> str:
    """The selector as typed, then whatever else sets two runs of one scenario apart."""
    parts = [_text(settings, "selector") or "unnamed", _text(settings, "filter")]
    if with_average:
        parts.append(_text(settings, "average"))
    return " + ".join(part for part in parts if part)


def _text(settings: Mapping[str, Any], *keys: str) -> str:
    return next((str(settings[key]) for key in keys if settings.get(key)), "")
