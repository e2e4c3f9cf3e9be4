"""What a strategy itself remembers from round to round, such as the moments of FedAdam, as arrays that can be saved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord
from flwr.serverapp.strategy import Strategy

from callup.core.errors import UsageError
from callup.core.selector import Arrays
from callup.flower.shown import layers

_PREFIX = "strategy."
_NUMBERS = ("clipping_norm",)  # of adaptive clipping, which moves it from round to round


def strategy_state(strategy: Strategy) -> Arrays:
    """Every attribute that holds arrays, of the strategy and those it wraps."""
    state: Arrays = {}
    for depth, layer in enumerate(layers(strategy)):
        for name, value in vars(layer).items():
            for place, (kind, key, array) in enumerate(_parts(name, value)):
                # The place is kept: strategies take arrays by their order, and a file does not keep one.
                state[f"{_PREFIX}{depth}.{name}.{kind}.{place:06d}.{key}"] = np.asarray(array)
    return state


def load_strategy(strategy: Strategy, state: Arrays) -> None:
    """Puts the arrays back where they were."""
    for layer in layers(strategy):
        if getattr(layer, "accountant", None) is not None:
            raise UsageError(
                "a run with a privacy accountant cannot be continued: what it has spent is not saved, and going on "
                "would count from zero"
            )
    found: dict[tuple[int, str, str], dict[str, np.ndarray]] = {}
    for name, array in sorted(state.items()):
        if name.startswith(_PREFIX):
            depth, attribute, kind, _, key = name.removeprefix(_PREFIX).split(".", 4)
            found.setdefault((int(depth), attribute, kind), {})[key] = array
    all_layers = layers(strategy)
    for (level, attribute, kind), parts in found.items():
        setattr(all_layers[level], attribute, _whole(kind, parts))


def _parts(name: str, value: Any) -> Iterator[tuple[str, str, np.ndarray]]:
    if name in _NUMBERS:
        yield "number", "", np.array(value)
    elif isinstance(value, np.ndarray):
        yield "array", "", value
    elif isinstance(value, ArrayRecord):
        yield from (("record", name, array.numpy()) for name, array in value.items())
    elif isinstance(value, dict) and value and all(isinstance(part, np.ndarray) for part in value.values()):
        yield from (("dict", str(name), part) for name, part in value.items())
    elif isinstance(value, list) and value and all(isinstance(part, np.ndarray) for part in value):
        yield from (("list", str(place), part) for place, part in enumerate(value))


def _whole(kind: str, parts: dict[str, np.ndarray]) -> Any:
    if kind == "number":
        return parts[""].item()
    if kind == "array":
        return parts[""]
    if kind == "record":
        return ArrayRecord({name: Array(array) for name, array in parts.items()})
    return parts if kind == "dict" else list(parts.values())
