"""Everything that defines a run, as plain values: what a TOML file holds and what `simulate` takes."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from callup.core.errors import InputError, UsageError
from callup.core.randomness import check_seed
from callup.core.spec import build
from callup.core.types import check_k
from callup.journal.disk import MOST_TEXT, read_whole
from callup.privacy.modes import parse_mode
from callup.simulation.local import LocalTraining

_LONG = 2**128  # a seed has fewer bits


@dataclass(frozen=True)
class Settings:
    """One run. Names are specs: `"dirichlet:alpha=0.1"`, `"fed-cbs:scale=3.5"`."""

    task: str = "fashion14-mlp"
    partition: str = "dirichlet:alpha=0.5"
    selector: str = "random"
    k: int = 10
    rounds: int = 50
    seed: int = 0
    availability: str = "always"
    latency: str = "fixed"
    average: str = "weighted"
    filter: str | None = None
    backend: str = "auto"
    workers: int | Literal["auto"] = "auto"
    """Processes or threads that share the clients of a round; auto: one for each core, where that is faster. Results do
    not depend on it."""
    overcommit: float | Literal["auto"] = 1.0
    """Ask this many times k clients and use the first k good replies; auto: so many that k reply in 99 rounds of 100,
    by the drop-out seen so far."""
    deadline: float | None = None
    """Simulated seconds after which a round ends; who has not replied by then is late."""
    quorum: float = 0.0
    """Share of k good replies that a round needs; with fewer it is abandoned and the model stays as it was."""
    lost: float = 0.0
    """Chance that a client asked does not reply."""
    faults: tuple[str, ...] = ()
    """What else goes wrong, e.g. ["stragglers:chance=0.1", "corrupted:kind=nan"]; `callup list faults`."""
    guard: str = "off"
    """`on`, or with settings such as `on:cap=1.5,pool=0.5`: checks reports and caps how often anybody is called."""
    adversary: str | None = None
    """Clients that lie, e.g. `inflated-loss:share=0.2`."""
    privacy: str = "plain"
    """How label statistics reach the selector: plain, dp, shared, shared+dp, fhe or fhe+dp, e.g. `dp:epsilon=1`."""
    fingerprint_bits: int = 64
    """Length of the SimHash a client sends where a selector asks for features."""
    evaluate_every: int = 1
    target: float | None = None
    """The test accuracy that 'rounds to target' counts up to."""
    scenario: str = ""
    rare_classes: tuple[int, ...] = ()
    """Classes that few clients own; reports show how well they are learned."""
    local: Mapping[str, Any] = field(default_factory=dict)
    """Changes to the task's own local training, e.g. {"epochs": 2}."""

    def __post_init__(self) -> None:
        if not isinstance(self.local, Mapping):
            raise UsageError(f"local must be a table of settings such as epochs and rate, got {self.local!r}")
        check_k(self.k)
        check_seed(self.seed)
        parse_mode(self.privacy)
        for name in ("rounds", "evaluate_every", "fingerprint_bits"):
            check_k(getattr(self, name), name)
        if self.workers != "auto":
            check_k(self.workers, "workers")
        if self.overcommit != "auto" and not 1 <= self.overcommit < math.inf:
            raise UsageError(f"overcommit must be 'auto' or at least 1, got {self.overcommit}")
        if self.deadline is not None and not 0 < self.deadline < math.inf:
            raise UsageError(f"deadline must be a number of seconds above 0, got {self.deadline}")
        if not 0 <= self.quorum <= 1:
            raise UsageError(f"quorum must be a share of k from 0 to 1, got {self.quorum}")
        if not 0 <= self.lost < 1:
            raise UsageError(f"lost must be a chance from 0 to below 1, got {self.lost}")
        if self.target is not None and not 0 < self.target <= 1:
            raise UsageError(f"target must be an accuracy above 0 and up to 1, got {self.target}")

    def training(self, default: LocalTraining) -> LocalTraining:
        """The task's local training with this run's changes."""
        known = {f.name: getattr(default, f.name) for f in fields(default)}
        made: LocalTraining = build(LocalTraining, "local", {**known, **self.local})
        return made

    def plain(self) -> dict[str, Any]:
        """As values that TOML and JSON can hold; what is None is left out."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        values["rare_classes"] = list(self.rare_classes)
        values["faults"] = list(self.faults)
        values["local"] = dict(self.local)
        return {name: value for name, value in values.items() if value is not None}

    def but(self, **changes: Any) -> Settings:
        """The same settings with some changed."""
        return replace(self, **changes)


def settings(**values: Any) -> Settings:
    """Settings from named values, each checked; a misspelt name gets a suggestion."""
    for name, value in values.items():
        if any(isinstance(number, int) and abs(number) >= _LONG for number in _leaves(value)):
            raise UsageError(f"settings: {name} has a number of more digits than any setting can have")
    made: Settings = build(Settings, "settings", values)
    return made


def _leaves(value: Any) -> Iterator[Any]:
    """The value, or all that is inside it, however deep."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, (list, tuple)):
            waiting += item
        elif isinstance(item, Mapping):
            waiting += item.values()
        else:
            yield item


def read_settings(path: Path) -> Settings:
    """Settings from a TOML file."""
    try:
        values = tomllib.loads(read_whole(path, MOST_TEXT).decode("utf-8"))
    except InputError:
        raise
    except FileNotFoundError as error:
        raise InputError(f"no such file: {path}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}") from error
    except (
        ValueError,
        RecursionError,
    ) as error:  # numbers of thousands of digits and endless brackets are no TOML either
        raise InputError(f"{path} is not valid TOML: {error}") from error
    for added_by_a_run in ("schema", "versions"):
        values.pop(added_by_a_run, None)
    try:
        return settings(**values)
    except UsageError as error:
        raise InputError(f"{path}: {error}") from error
