"""A table of a paper as data: the settings that regenerate it beside the rows it printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from callup.experiments.reproduce.published import Published

Better = Literal["lower", "higher"]


@dataclass(frozen=True)
class Environment:
    """A federation of the table; `settings` are changes to the table's own."""

    name: str
    settings: Mapping[str, Any]
    dataset: str = ""
    """What stands in for the paper's data, where that could not be had."""
    reading: str = ""
    """How this differs from what the paper states; the row is then compared under that name."""
    of: str = ""
    """The published environment it is compared with, where the names differ."""


@dataclass(frozen=True)
class Way:
    """A method of the table, or one of several readings of it."""

    name: str
    settings: Mapping[str, Any]
    reading: str = ""
    training_free: bool = False
    """Its choices need nothing that training tells."""
    value: str = ""
    """Of a study: which of its numbers this is."""
    only: tuple[str, ...] = ()
    """The environments it is run in; none means all."""
    picks_seeds: int = 0
    """More seeds than the table's for cells that only choose, where what is counted is rare."""


@dataclass(frozen=True)
class Measure:
    """A column of the table: which metric of a run, with which options, in which unit."""

    name: str
    metric: str
    """A name in METRICS, or `value`: a number of the table's study."""
    factor: float = 1.0
    better: Better = "lower"
    options: Mapping[str, Any] = field(default_factory=dict)
    by_environment: Mapping[str, Any] = field(default_factory=dict)
    """Options that differ from environment to environment, e.g. the target accuracy."""
    references: Mapping[str, str] = field(default_factory=dict)
    """Option of the metric to method: the run of that method with the same seed is handed in."""
    via: str = ""
    """A measure of this table whose numbers are handed in instead of runs."""
    training_free: bool = False
    median: bool = False
    """The paper reports medians, not means."""


@dataclass(frozen=True)
class Scale:
    """How large a run is; `note` says what was cut down. Without a note it is the paper's own size."""

    name: str
    seeds: int = 1
    note: str = ""
    skip: str = ""
    """Why the table is not run at this scale."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    environments: Mapping[str, Any] = field(default_factory=dict)
    """Changes to single environments."""
    methods: Mapping[str, Any] = field(default_factory=dict)
    """Changes to single methods."""
    by_environment: Mapping[str, Any] = field(default_factory=dict)
    """Options of measures that shorter runs need otherwise, by environment, e.g. a lower target."""
    only: tuple[str, ...] = ()
    """The environments that are run; none means all."""
    without: Mapping[str, str] = field(default_factory=dict)
    """Methods that are not run, each with the reason."""


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper about a picture: in this measure one method is ahead of another."""

    text: str
    measure: str
    environment: str
    ahead: str
    behind: str


@dataclass(frozen=True)
class Contradiction:
    """Rows that cannot all be true. With `bound` the proof is computed, else it is in the words."""

    why: str
    environment: str
    measure: str
    methods: tuple[str, ...]
    bound: str = ""
    """`expected`: the mean by the closed form; `least`: no selection can be below."""
    holders: tuple[int, ...] = ()
    """Clients of each class, as the paper states them."""
    available: int = 0
    chosen: int = 0


@dataclass(frozen=True)
class Table:
    """All there is to know of one table, figure or study."""

    paper: str
    name: str
    title: str
    baseline: str
    base: Mapping[str, Any]
    environments: tuple[Environment, ...]
    methods: tuple[Way, ...]
    measures: tuple[Measure, ...]
    scales: Mapping[str, Scale]
    published: tuple[Published, ...]
    sources: Mapping[str, str]
    contradictions: tuple[Contradiction, ...] = ()
    claims: tuple[Claim, ...] = ()
    findings: tuple[str, ...] = ()
    """What came of it and the best explanation found, for the documentation."""
    picks: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the cells that only choose and do not train: seeds and rounds."""
    study: Literal["", "shapley", "class-ratio"] = ""
    """What is played instead of plain runs, where the picture is not about accuracy."""
    seconds: float = 1.0
    """What one round took on one core, for the estimate before anything was run."""

    @property
    def address(self) -> str:
        return f"{self.paper}/{self.name}"

    def scale(self, name: str) -> Scale:
        """The scale of this name; where the table has none, everything that needs training is left out."""
        advice = "needs training: use --scale small or paper" if name == "check" else f"no settings for --scale {name}"
        return self.scales.get(name, Scale(name, skip=advice))
