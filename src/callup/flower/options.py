"""What can be set, in code or in the run config of an app: `flwr run . --run-config 'selector="fed-cbs" k=10'`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from callup.core.errors import UsageError, suggest
from callup.core.randomness import check_seed
from callup.core.types import check_k

_OTHERS = ("selector", "filter", "average", "guard", "run", "resume")
FROM_CONFIG = (*_OTHERS, "k", "seed", "deadline", "quorum", "overcommit", "wait")
"""Keys of the run config that are read."""


@dataclass(frozen=True)
class Options:
    """How many are asked, how long a round may take, and who may take part."""

    k: int
    seed: int = 0
    deadline: float = 600.0
    """Seconds after which a round, or a question, is over whoever has not answered."""
    quorum: int = 1
    """Good replies that a round needs; with fewer it is abandoned and the model stays as it was."""
    overcommit: float | str = 1.0
    """Ask so many times k clients and use the first k good replies; "auto": as many as past drop-out calls for."""
    wait: float = 120.0
    """Seconds to wait for nodes to connect before a round goes ahead with fewer, or gives up below the quorum."""
    strikes: int = 2
    """Impossible replies after which a client is left out."""
    only: frozenset[str] | None = None
    """Names of the clients that may be chosen; everybody if None."""
    without: frozenset[str] = frozenset()
    """Names of clients that may not."""
    tags: Mapping[str, Any] = field(default_factory=dict)
    """Properties that a client must have, as it told them: {"site": "eu"} or {"site": ["eu", "uk"]}."""

    @property
    def lifetime(self) -> float:
        """Seconds after which Flower forgets a message: longer than the deadline, so that a late reply can be seen."""
        return 2 * self.deadline

    def __post_init__(self) -> None:
        for name in ("k", "quorum", "strikes"):
            check_k(getattr(self, name), name)
        check_seed(self.seed)
        if self.quorum > self.k:
            raise UsageError(f"a quorum of {self.quorum} replies cannot be had from k={self.k} clients")
        for name in ("deadline", "wait"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
                raise UsageError(f"{name} must be a number of seconds above 0, got {value!r}")
        known = self.overcommit == "auto" or (
            isinstance(self.overcommit, (int, float)) and 1 <= self.overcommit < math.inf
        )
        if not known:
            raise UsageError(f"overcommit must be a number of at least 1 or 'auto', got {self.overcommit!r}")


def options_of(config: Mapping[str, Any], given: Mapping[str, Any]) -> tuple[Options, dict[str, Any]]:
    """The options, and the settings that are none: selector, filter, average, guard, run and resume.

    `config` is the run config of an app: other keys in it belong to the app, and an empty text means not set.
    """
    found = {name: config[name] for name in FROM_CONFIG if name in config and config[name] != ""}
    found |= {name: value for name, value in given.items() if value is not None}
    rest: dict[str, Any] = {name: found.pop(name) for name in _OTHERS if name in found}
    known = Options.__dataclass_fields__
    for name in found:
        if name not in known:
            raise UsageError(f"Selecting has no setting '{name}'{suggest(name, known)}")
    if "k" not in found:
        raise UsageError("say how many clients train in each round: Selecting(..., k=10), or k = 10 in the run config")
    for name in ("only", "without"):
        if name in found:
            found[name] = _names(found[name])
    return Options(**found), rest


def _names(given: Any) -> frozenset[str]:
    """Client names as text; a single name is not taken apart into letters."""
    return frozenset([str(given)]) if isinstance(given, (str, int)) else frozenset(str(name) for name in given)
