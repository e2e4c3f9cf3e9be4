"""How label statistics are protected: who computes them, who sees them, and at what epsilon.

`plain`, `dp`, `shared`, `fhe`, `shared+dp` and `fhe+dp`, with parameters: `"shared+dp:epsilon=0.5,minimum=30"`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from callup.core.errors import UsageError, suggest
from callup.core.spec import coerce, parse_spec
from callup.core.types import check_k

Protection = Literal["plain", "shared", "fhe"]
NAMES = ("plain", "dp", "shared", "shared+dp", "fhe", "fhe+dp")

LABELS = ("label_counts", "label_gram", "global_counts")
"""The label statistics, which are given as a mode says."""

_OFFERS: dict[Protection, tuple[str, ...]] = {"plain": LABELS, "shared": LABELS[1:], "fhe": LABELS[1:2]}


@dataclass(frozen=True)
class Mode:
    """One mode with its parameters.

    protection: plain shows each client's row, noised or not; shared and fhe show the selector only inner products.
    epsilon: of one record in a client's data, when one record is replaced and sizes are known; None adds no noise.
    minimum: fewer clients than this and nothing is computed for them together.
    """

    protection: Protection
    epsilon: float | None = None
    minimum: int = 20

    @property
    def name(self) -> str:
        if self.epsilon is None:
            return self.protection
        return "dp" if self.protection == "plain" else f"{self.protection}+dp"

    @property
    def spec(self) -> str:
        """As a person would type it."""
        pairs = [] if self.epsilon is None else [f"epsilon={self.epsilon:g}"]
        if self.protection != "plain":
            pairs.append(f"minimum={self.minimum}")
        return self.name + (":" + ",".join(pairs) if pairs else "")

    @property
    def offers(self) -> tuple[str, ...]:
        """Which label statistics a selector may be given."""
        return _OFFERS[self.protection]


def parse_mode(text: str) -> Mode:
    """A mode from its spec; a misspelt name or parameter gets a suggestion."""
    name, words, pairs = parse_spec(text)
    if name not in NAMES:
        raise UsageError(f"unknown privacy mode '{name}'{suggest(name, NAMES)}")
    protection: Protection = "shared" if "shared" in name else "fhe" if "fhe" in name else "plain"
    known = [*(["epsilon"] if name.endswith("dp") else []), *(["minimum"] if protection != "plain" else [])]
    for key in (*words, *pairs):
        if key not in known:
            takes = " and ".join(known) or "no parameters"
            raise UsageError(f"privacy mode '{name}' has no parameter '{key}'; it takes {takes}")
    if words:
        raise UsageError(f"privacy mode '{name}': '{words[0]}' needs a value, e.g. {name}:{words[0]}=1")
    epsilon = check_epsilon(coerce(pairs.get("epsilon", 1.0), float, f"{name}: epsilon"))
    minimum = check_k(coerce(pairs.get("minimum", 20), int, f"{name}: minimum"), f"{name}: minimum")
    return Mode(protection, epsilon if name.endswith("dp") else None, minimum)


def check_epsilon(epsilon: float) -> float:
    """A finite number above 0."""
    if not 0 < epsilon < math.inf:
        raise UsageError(f"epsilon must be above 0 and finite, got {epsilon:g}")
    return epsilon
