"""Whether two things are the same, all the way down, and what differs when they are not."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from callup.core.per_client import PerClient
from callup.core.selector import Method
from callup.core.types import Selection


def same(a: Any, b: Any) -> bool:
    """Equal in value, shape and type; NaN equals NaN, generators are equal when they would draw the same."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return _same_arrays(np.asarray(a), np.asarray(b))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, Sequence) and isinstance(b, Sequence) and not isinstance(a, str):
        return len(a) == len(b) and all(map(same, a, b))
    if type(a) is not type(b):
        return False
    if isinstance(a, PerClient):
        return same(a.state(), b.state())
    if isinstance(a, np.random.Generator):
        return same(a.bit_generator.state, b.bit_generator.state)
    if isinstance(a, float) and a != a:
        return bool(b != b)
    return bool(a == b) or (hasattr(a, "__dict__") and bool(vars(a)) and same(vars(a), vars(b)))


def differing(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    """Names under which two mappings differ."""
    return sorted(name for name in a.keys() | b.keys() if name not in a or name not in b or not same(a[name], b[name]))


def cohorts(selections: Sequence[Selection]) -> list[list[int]]:
    """Who was called, round by round, most wanted first."""
    return [selection.ids.tolist() for selection in selections]


def parameters(method: Method) -> dict[str, Any]:
    """Hyper-parameters by name."""
    return {f.name: getattr(method, f.name) for f in dataclasses.fields(method)}  # type: ignore[arg-type]


def _same_arrays(a: np.ndarray, b: np.ndarray) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))
